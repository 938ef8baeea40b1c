"""The two locks and what comes of them."""

import contextlib
import enum
import random
import secrets
import threading
import time

import redis

from .dialects import Fleet, data, new_key


class NotAcquired(Exception):
    """The lock was held by another client until the timeout."""


class OutcomeUnknown(Exception):
    """The connection broke after a command that the server may have run.

    After an attempt, the lock has been released again as far as the server could be reached; otherwise it expires."""


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
    """An acquired lock. It does not renew itself: `extend` does, or `keep_alive` in the background."""

    def __init__(self, lock, token, since):
        self._lock, self._token = lock, token
        self._until = since + lock._lease_ms / 1000
        self._changes = threading.Lock()
        self._stop = threading.Event()
        self._renewal = None
        self._lost = None
        self._released = None

    @property
    def lost(self):
        """Whether the lock is lost: its lease has ended, another client has it, or an old client has intruded."""
        return self._lost is not None or time.monotonic() >= self._until

    @property
    def remaining(self):
        """Seconds until the lease ends."""
        return max(0.0, self._until - time.monotonic())

    def extend(self):
        """Renews the lease from now. Raises `Lost` or `OutcomeUnknown`."""
        with self._changes:
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
            self._renewal = threading.Thread(target=self._renew, name="lockshift-renewal", daemon=True)
            self._renewal.start()
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

        A second call returns what the first has found."""
        self._stop.set()
        if self._renewal is not None and self._renewal is not threading.current_thread():
            self._renewal.join()
        with self._changes:
            if self._released is None:
                self._released = (Released.LOST, Released.FREED, Released.INTRUDED)[self._lock._release(self._token)]
            return self._released


class _Lock:
    """What both locks share: attempts, waiting, scripts."""

    def __init__(self, client, key, lease):
        if not lease >= 0.001:
            raise ValueError("a lease is at least a millisecond")
        self.key = key
        self._redis = client
        self._lease_ms = round(lease * 1000)
        self._scripts = {}

    def try_acquire(self):
        """One attempt: a `Hold`, or `None` if another client holds the lock."""
        token = secrets.token_hex(16)
        since = time.monotonic()
        try:
            won = self._attempt(token)
        except redis.RedisError as error:
            if isinstance(error, redis.ResponseError):
                raise
            # It may have run: released again, as far as the server can be reached.
            with contextlib.suppress(redis.RedisError, OutcomeUnknown):
                self._release(token)
            raise OutcomeUnknown(f"cannot tell whether {self.key} was acquired: {error}") from error
        return Hold(self, token, since) if won else None

    def acquire(self, timeout):
        """Attempts for up to `timeout` seconds: a `Hold`, or `NotAcquired`."""
        deadline = time.monotonic() + timeout
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
                raise NotAcquired(f"{self.key} was held by another client for {timeout} s")
            time.sleep(min(left, random.uniform(pause / 2, pause)))
            pause = min(pause * 2, 0.5)

    @contextlib.contextmanager
    def held(self, timeout):
        """Acquires, renews in the background, and releases. Raises `Lost` at the end if the lock was lost meanwhile."""
        hold = self.acquire(timeout).keep_alive()
        try:
            yield hold
        except BaseException:
            # The body's own error is the one to report.
            with contextlib.suppress(redis.RedisError, OutcomeUnknown):
                hold.release()
            raise
        released = hold.release()
        if released is not Released.FREED:
            raise Lost(f"{self.key} was lost before its release", intruded=released is Released.INTRUDED)

    def _run(self, name, keys, args):
        """Sends a script once. By EVALSHA, which runs nothing if the server does not know the script."""
        script = self._scripts.get(name)
        if script is None:
            script = self._scripts[name] = self._redis.register_script(data(name + ".lua"))
        return script(keys=keys, args=args)

    def _disclaimable(self, name, keys, args):
        try:
            return self._run(name, keys, args)
        except redis.ResponseError:
            raise
        except redis.RedisError as error:
            raise OutcomeUnknown(f"cannot tell what became of {self.key}: {error}") from error


class BridgeLock(_Lock):
    """One lock of both generations: a stamp in `key` for the old clients of these dialects, a token in its new key.

    `client` is a `redis.Redis` (without `decode_responses` if a dialect writes bytes); `lease` is in seconds. Raises `NotBridgeable`."""

    def __init__(self, client, key, lease, dialects):
        super().__init__(client, key, lease)
        self._fleet = Fleet(list(dialects))
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
        return self._disclaimable("bridge-extend", self._keys, [token, self._lease_ms, stamp])

    def _release(self, token):
        return self._disclaimable("bridge-release", self._keys, [token])


class TokenLock(_Lock):
    """The modern lock on one key: `SET key token NX PX lease`, released and extended by its token only.

    Beside bridges, `key` is `new_key("invoices")`. `client` is a `redis.Redis`; `lease` is in seconds."""

    def _attempt(self, token):
        if self._redis.set(self.key, token, nx=True, px=self._lease_ms):
            return True
        # A Redis client that sends a command again after a timeout finds the token of its own first run.
        return self._redis.get(self.key) in (token, token.encode())

    def _extend(self, token):
        return self._disclaimable("token-extend", [self.key], [token, self._lease_ms])

    def _release(self, token):
        return self._disclaimable("token-release", [self.key], [token])
