"""The two locks and what comes of them."""

import contextlib
import decimal
import enum
import inspect
import math
import numbers
import os
import random
import secrets
import threading
import time

import redis

from .dialects import Fleet, data, new_key

_LONGEST_S = 100 * 365 * 86_400
# Before redis-py 5.3, a pool asks for the name of the command; later ones warn of it.
_FOR_A_CONNECTION = ["EVAL"] if redis.VERSION < (5, 3) else []


class NotAcquired(Exception):
    """The lock was held by another client until the timeout."""


class OutcomeUnknown(Exception):
    """The connection broke after a command that the server may have run.

    After an attempt, the lock has been released again as far as the server could be reached; otherwise it expires. After a
    release, the lock was freed or lost, or is still held until its lease ends."""


class Lost(Exception):
    """The lock was not held to the end. `intruded`: an old client has overwritten or deleted the bridge's stamp."""

    def __init__(self, message, intruded=False):
        super().__init__(message)
        self.intruded = intruded


class Released(enum.Enum):
    """What a release has found."""

    FREED = "freed"
    LOST = "lost"  # the lease had ended: another client may have held the lock meanwhile
    INTRUDED = "intruded"  # an old client has changed the old key while the lock was held


class Hold:
    """An acquired lock. It does not renew itself: `extend` does, or `keep_alive` in the background.

    It belongs to the process that acquired it. In a fork, nothing is sent: `extend` raises `Lost`, `release` returns
    `Released.LOST`, and a `held` block that the fork leaves raises `Lost`. The lock of the first process stays as it is."""

    def __init__(self, lock, token, since):
        self._lock, self._token = lock, token
        self._process = os.getpid()
        self._until = since + lock._lease_ms / 1000
        self._changes = threading.Lock()
        self._stop = threading.Event()
        self._renewal = None
        self._lost = None
        self._released = None
        self._may_be_freed = False  # by a release that got no reply

    @property
    def lost(self):
        """Whether the lock is lost: its lease has ended, another client has it, or an old client has intruded."""
        return self._lost is not None or time.monotonic() >= self._until

    @property
    def remaining(self):
        """Seconds until the lease ends."""
        return max(0.0, self._until - time.monotonic())

    def extend(self):
        """Renews the lease from now. Raises `Lost` or `OutcomeUnknown`. A loss is final: later calls raise it again."""
        if self._is_inherited():
            raise self._lost
        with self._changes:
            if self._lost:
                raise self._lost
            since = time.monotonic()
            answer = self._lock._extend(self._token)
            if answer == 0:
                self._lost = Lost(f"the lock {self._lock.key} belongs to another client, or has expired")
            elif answer == 2:
                self._lost = Lost(f"an old client has changed {self._lock.key} while it was held", intruded=True)
            else:
                self._until = since + self._lock._lease_ms / 1000
        if self._lost:
            raise self._lost

    def keep_alive(self):
        """Renews the lease in a thread of its own, three times a lease, until release or loss."""
        if self._renewal is None:
            renewal = threading.Thread(target=self._renew, name="lockshift-renewal", daemon=True)
            renewal.start()
            self._renewal = renewal  # `release` joins it, which only a started thread allows
        return self

    def _renew(self):
        pause = self._lock._lease_ms / 3000
        while not self._stop.wait(pause):
            try:
                self.extend()
                pause = self._lock._lease_ms / 3000
            except Lost:
                return
            except (OutcomeUnknown, redis.RedisError):
                pause = self._lock._lease_ms / 30000  # the lease still runs: sooner the next time
                if self.lost:
                    return

    def check(self):
        """Raises `Lost` if the lock is lost."""
        if self._lost:
            raise self._lost
        if self.lost:
            raise Lost(f"the lease of {self._lock.key} has ended")

    def release(self):
        """Releases the lock and returns a `Released`. Only what this hold has written is deleted.

        A loss that `extend` or the renewal has found is returned, even if the server freed the lock or no reply arrived.
        Otherwise, raises `OutcomeUnknown` if no reply arrived, or if an earlier run of the same release may have deleted the
        lock: a `RedisCluster`, and a client that sends commands in a way of its own, may send it again after an error. A second
        call returns what the first has found, and sends the release again if no reply arrived."""
        if self._is_inherited():
            return Released.LOST
        self._stop.set()
        if self._renewal is not None and self._renewal is not threading.current_thread():
            self._renewal.join()
        with self._changes:
            if self._released is None:
                try:
                    found = self._send_release()
                except OutcomeUnknown:
                    if self._lost:
                        return self._recorded_loss()
                    raise
                self._released = self._recorded_loss() if self._lost and found is not Released.INTRUDED else found
            return self._released

    def _recorded_loss(self):
        return Released.INTRUDED if self._lost.intruded else Released.LOST

    def _is_inherited(self):
        """Whether this process is a fork of the holder: there, `_changes` may be locked by a thread that does not exist."""
        if os.getpid() == self._process:
            return False
        self._lost = Lost(f"the lock {self._lock.key} belongs to the process that forked this one")
        return True

    def _send_release(self):
        was_held = not self.lost
        may_be_freed = self._may_be_freed or (was_held and not self._lock._sends_once)
        try:
            answer = self._lock._release(self._token)
        except redis.ResponseError:
            raise
        except BaseException:
            self._may_be_freed = self._may_be_freed or was_held
            raise
        if answer == 0 and may_be_freed and not self._lost:
            raise OutcomeUnknown(f"cannot tell whether {self._lock.key} was lost: its release may have been sent twice")
        return (Released.LOST, Released.FREED, Released.INTRUDED)[answer]


class _Lock:
    """What both locks share: attempts, waiting, scripts."""

    def __init__(self, client, key, lease):
        if not _is_synchronous(client):
            raise TypeError(
                f"cannot lock through a {type(client).__module__}.{type(client).__qualname__}: "
                "pass a synchronous redis.Redis or redis.RedisCluster, and no pipeline"
            )
        _check_seconds("lease", lease)
        if not 0.001 <= lease <= _LONGEST_S:
            raise ValueError(f"cannot lock for {lease} s: a lease is at least a millisecond and at most a century")
        self.key = key
        self._redis = client
        # A client that routes or rewrites commands, or that shares one connection, has to send them itself.
        self._sends_once = (
            isinstance(client, redis.Redis)
            # A proxy that passes for a `redis.Redis` has no such attribute in its own class.
            and getattr(type(client), "execute_command", None) == redis.Redis.execute_command
            and client.connection is None
        )
        self._lease_ms = round(lease * 1000)
        self._scripts = {}

    def try_acquire(self):
        """One attempt: a `Hold`, or `None` if another client holds the lock."""
        token = secrets.token_hex(16)
        since = time.monotonic()
        try:
            return Hold(self, token, since) if self._attempt(token) else None
        except redis.ResponseError:
            raise
        except BaseException as error:
            # It may have run, also if a signal has interrupted it: released again, as far as the server can be reached.
            _release_unheard(lambda: self._release(token), error)
            if isinstance(error, redis.RedisError):
                raise OutcomeUnknown(f"cannot tell whether {self.key} was acquired: {error}") from error
            raise

    def acquire(self, timeout):
        """Attempts for up to `timeout` seconds: a `Hold`, or `NotAcquired`."""
        _check_seconds("timeout", timeout)
        if math.isnan(timeout):
            raise ValueError("a timeout is a number of seconds, not nan")
        deadline = time.monotonic() + float(timeout)
        pause = 0.01
        while True:
            try:
                hold = self.try_acquire()
            except OutcomeUnknown:
                hold = None
                if time.monotonic() >= deadline:
                    raise
            if hold:
                return hold
            left = deadline - time.monotonic()
            if left <= 0:
                raise NotAcquired(f"{self.key} was held by another client for {max(0, timeout)} s")
            time.sleep(min(left, random.uniform(pause / 2, pause)))
            pause = min(pause * 2, 0.5)

    @contextlib.contextmanager
    def held(self, timeout):
        """Acquires, renews in the background, and releases. Raises `Lost` at the end if the lock was lost meanwhile."""
        hold = self.acquire(timeout)
        try:
            hold.keep_alive()
            yield hold
            released = hold.release()
            if released is not Released.FREED:
                raise Lost(str(hold._lost or f"{self.key} was lost before its release"), intruded=released is Released.INTRUDED)
        except BaseException as error:
            # The first error is the one to report: the body's own, or what has interrupted the release.
            _release_unheard(hold.release, error)
            raise

    def _run(self, name, keys, args):
        """Sends a script, by EVALSHA. A client that sends commands again after an error may run it twice."""
        script = self._scripts.get(name)
        if script is None:
            script = self._scripts[name] = self._redis.register_script(data(name + ".lua").encode())
        return script(keys=keys, args=args)

    def _run_once(self, name, keys, args):
        """Sends a script once, if the client allows it: a second run of a release would find no lock and look like a loss."""
        if not self._sends_once:
            return self._run(name, keys, args)
        pool = self._redis.connection_pool
        connection = pool.get_connection(*_FOR_A_CONNECTION)
        try:
            connection.send_command("EVAL", data(name + ".lua"), len(keys), *keys, *args)
            return self._redis.parse_response(connection, "EVAL")
        except BaseException:
            connection.disconnect()  # its reply may still arrive
            raise
        finally:
            pool.release(connection)

    def _settle(self, run, name, keys, args):
        try:
            return run(name, keys, args)
        except redis.ResponseError as error:
            if _is_of_another_type(error):
                return 0
            raise
        except redis.RedisError as error:
            raise OutcomeUnknown(f"cannot tell what became of {self.key}: {error}") from error


def _release_unheard(release, error):
    """Releases after `error`, which is the one to report: errors of the release are not raised.

    After an `Exception`, waits for the reply. A caller that was interrupted does not wait for a server that does not answer: the
    release then runs for up to a second, and longer in the background."""

    def run():
        with contextlib.suppress(Exception):
            release()

    if isinstance(error, Exception):
        try:
            run()
        except BaseException as interrupt:
            _release_unheard(release, interrupt)
            raise
        return
    thread = threading.Thread(target=run, name="lockshift-release", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # no thread can be started
        run()
    else:
        thread.join(1)


def _check_seconds(what, value):
    # A boolean is a number for Python, and a timeout of None could be taken for an endless one.
    if isinstance(value, bool) or not isinstance(value, (numbers.Real, decimal.Decimal)):
        raise TypeError(f"a {what} is a number of seconds, not {value!r}")


def _is_synchronous(client):
    """Whether `client` runs each command before it returns: also a proxy or a wrapper of a client, whatever its class."""
    execute = getattr(client, "execute_command", None)
    # A subscription has `execute_command`, but no scripts.
    if not callable(execute) or inspect.iscoroutinefunction(execute) or not callable(getattr(client, "register_script", None)):
        return False
    wrapped = getattr(execute, "__self__", client)
    return not any(
        kind.__name__.endswith("Pipeline") or kind.__module__.startswith("redis.asyncio") for kind in type(wrapped).__mro__
    )


def _is_of_another_type(error):
    # In a script, servers before 7.0 put words of their own before the error.
    return "WRONGTYPE" in str(error)


class BridgeLock(_Lock):
    """One lock of both generations: a stamp in `key` for the old clients of these dialects, a token in its new key.

    `client` is a `redis.Redis` (without `decode_responses` if a dialect writes bytes) or a `redis.RedisCluster`; `lease` is in
    seconds. Raises `NotBridgeable`."""

    def __init__(self, client, key, lease, dialects):
        super().__init__(client, key, lease)
        self._fleet = Fleet(dialects)
        self._keys = [new_key(key), key]

    def _attempt(self, token):
        answer = self._bid(token)
        if answer[0] == 2:
            # A client with `decode_responses` returns text.
            value = answer[1].encode() if isinstance(answer[1], str) else answer[1]
            if self._fleet.is_expired(value, self._lease_ms, time.time() * 1000):
                # Replaces exactly the value that was judged.
                answer = self._bid(token, value)
        return answer[0] == 1

    def _bid(self, token, *expired):
        stamp = self._fleet.stamp(token, self._lease_ms, time.time() * 1000)
        return self._run("bridge-acquire", self._keys, [token, self._lease_ms, stamp, *expired])

    def _extend(self, token):
        stamp = self._fleet.stamp(token, self._lease_ms, time.time() * 1000)
        return self._settle(self._run, "bridge-extend", self._keys, [token, self._lease_ms, stamp])

    def _release(self, token):
        return self._settle(self._run_once, "bridge-release", self._keys, [token])


class TokenLock(_Lock):
    """The modern lock on one key: `SET key token NX PX lease`, released and extended by its token only.

    Beside bridges, `key` is `new_key("invoices")`. `client` is a `redis.Redis` or a `redis.RedisCluster`; `lease` is in
    seconds."""

    def _attempt(self, token):
        if self._redis.set(self.key, token, nx=True, px=self._lease_ms) in (True, b"OK", "OK"):
            return True
        # A Redis client that sends a command again after a timeout finds the token of its own first run.
        try:
            return self._redis.get(self.key) in (token, token.encode())
        except redis.ResponseError as error:
            if _is_of_another_type(error):
                return False
            raise

    def _extend(self, token):
        return self._settle(self._run, "token-extend", [self.key], [token, self._lease_ms])

    def _release(self, token):
        return self._settle(self._run_once, "token-release", [self.key], [token])
