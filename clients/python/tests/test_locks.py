"""The two locks on the server that REDIS_URL names: `REDIS_URL=redis://127.0.0.1 python -m unittest tests/test_locks.py`."""

import contextlib
import datetime
import decimal
import importlib
import math
import os
import pathlib
import re
import secrets
import socket
import threading
import time
import unittest
import unittest.mock

import redis

import lockshift
from lockshift import BridgeLock, Lost, NotAcquired, OutcomeUnknown, Released, TokenLock, new_key

LONG = 600


class Interrupt(BaseException):
    """What a signal handler or `gevent.Timeout` raises in the middle of a command."""


class LosesReply(redis.Connection):
    """Loses the reply to one script, which has run."""

    lose = False

    def send_command(self, *args, **options):
        self.is_script = args[0].startswith("EVAL")
        super().send_command(*args, **options)

    def read_response(self, *args, **options):
        reply = super().read_response(*args, **options)
        if self.lose and self.is_script:
            LosesReply.lose = False
            raise redis.TimeoutError("the reply is lost")
        return reply


class Routed(redis.Redis):
    """A client that sends commands in a way of its own, and sends them again."""

    def execute_command(self, *args, **options):
        return super().execute_command(*args, **options)


class Wrapper:
    """A client that hands on what it does not define, as Flask-Redis does."""

    def __init__(self, client):
        self._client = client

    def __getattr__(self, name):
        return getattr(self._client, name)


class Proxy(Wrapper):
    """A client that also passes for the class of another, as a `LocalProxy` does."""

    __class__ = property(lambda self: self._client.__class__)


class Locks(unittest.TestCase):
    def setUp(self):
        self.redis = redis.Redis.from_url(os.environ["REDIS_URL"])
        self.addCleanup(self.redis.close)
        self.key = "tests:python:" + secrets.token_hex(8)

    def each(self, lease=LONG, client=None):
        """Both locks, and the key that holds the token of each."""
        client = client or self.redis
        yield TokenLock(client, self.key, lease), self.key
        bridge = self.key + ":bridge"
        yield BridgeLock(client, bridge, lease, ["php-getset"]), new_key(bridge)

    def test_a_held_lock_is_refused_until_its_release(self):
        for lock, key in self.each():
            hold = lock.try_acquire()
            self.assertIsNone(lock.try_acquire())
            with self.assertRaises(NotAcquired):
                lock.acquire(timeout=0.05)
            self.assertIs(hold.release(), Released.FREED)
            self.assertIs(hold.release(), Released.FREED, "a second call returns what the first has found")
            self.assertEqual(self.redis.exists(key, lock.key), 0)

    def test_acquire_waits_for_the_release(self):
        for lock, _ in self.each():
            hold = lock.try_acquire()
            threading.Timer(0.1, hold.release).start()
            self.assertIs(lock.acquire(timeout=60).release(), Released.FREED)

    def test_the_block_releases_and_its_own_error_is_the_one_raised(self):
        for lock, key in self.each():
            with lock.held(timeout=1) as hold:
                self.assertFalse(hold.lost)
                self.assertGreater(hold.remaining, LONG / 2)
            self.assertEqual(self.redis.exists(key), 0)
            with self.assertRaises(KeyError), lock.held(timeout=1):
                self.redis.set(key, "another client's")
                raise KeyError("of the work")
            self.assertEqual(self.redis.get(key), b"another client's", "only what the hold has written is deleted")

    def test_a_block_that_has_lost_the_lock_raises_lost(self):
        for lock, key in self.each():
            with self.assertRaises(Lost) as lost, lock.held(timeout=1):
                self.redis.set(key, "another client's")
            self.assertFalse(lost.exception.intruded)

    def test_an_overwritten_stamp_is_an_intrusion(self):
        lock = BridgeLock(self.redis, self.key, LONG, ["php-getset"])
        with self.assertRaises(Lost) as lost, lock.held(timeout=1) as hold:
            self.redis.set(self.key, "1")
            with self.assertRaises(Lost):
                hold.extend()
            self.assertTrue(hold.lost)
            self.assertRaises(Lost, hold.check)
        self.assertTrue(lost.exception.intruded)

    def test_an_intrusion_that_a_renewal_has_found_is_what_the_release_returns(self):
        lock = BridgeLock(self.redis, self.key, 9, ["php-getset"])
        with self.assertRaises(Lost) as lost, lock.held(timeout=1) as hold:
            self.redis.delete(self.key)
            deadline = time.monotonic() + 60
            while not hold.lost and time.monotonic() < deadline:
                time.sleep(0.01)
            self.assertEqual(self.redis.exists(self.key), 1, "the renewal has written the stamp again")
        self.assertTrue(lost.exception.intruded)
        self.assertIs(hold.release(), Released.INTRUDED)

    def test_a_loss_that_extend_has_found_is_what_the_release_returns(self):
        for lock, key in self.each():
            hold = lock.try_acquire()
            token = self.redis.get(key)
            self.redis.set(key, "another client's")
            self.assertRaises(Lost, hold.extend)
            self.redis.set(key, token)
            self.assertIs(hold.release(), Released.LOST)

    def test_a_recorded_loss_is_reported_if_the_outcome_of_the_release_is_unknown(self):
        lock = BridgeLock(self.redis, self.key, LONG, ["php-getset"])
        release, failures = lock._release, []

        def unknown(token):
            if not failures:
                failures.append(token)
                raise OutcomeUnknown("the connection broke")
            return release(token)

        lock._release = unknown
        with self.assertRaises(Lost) as lost, lock.held(timeout=1) as hold:
            self.redis.delete(self.key)
            self.assertRaises(Lost, hold.extend)
        self.assertTrue(lost.exception.intruded)
        self.assertEqual(self.redis.exists(self.key, new_key(self.key)), 0, "the release was sent again")
        failures.clear()
        hold = lock.try_acquire()
        self.redis.delete(self.key)
        self.assertRaises(Lost, hold.extend)
        for _ in "the first", "another":
            self.assertIs(hold.release(), Released.INTRUDED)
        self.assertEqual(self.redis.exists(self.key, new_key(self.key)), 0)

    def test_an_error_of_the_block_waits_for_the_release(self):
        for lock, key in self.each():
            release = lock._release

            def slow(token):
                time.sleep(2)
                return release(token)

            lock._release = slow
            with self.assertRaises(ValueError), lock.held(timeout=1):
                raise ValueError("of the work")
            self.assertEqual(self.redis.exists(key, lock.key), 0)

    def test_an_interrupt_ends_the_wait_for_the_release(self):
        for lock, key in self.each():
            release, interrupts = lock._release, [Interrupt]

            def interrupted(token):
                if interrupts:
                    raise interrupts.pop()
                return release(token)

            lock._release = interrupted
            with self.assertRaises(Interrupt), lock.held(timeout=1):
                raise ValueError("of the work")
            self.assertEqual(self.redis.exists(key, lock.key), 0)

    def test_a_second_extend_raises_the_loss_that_the_first_has_found(self):
        hold = BridgeLock(self.redis, self.key, LONG, ["php-getset"]).try_acquire()
        self.redis.delete(self.key)
        self.assertRaises(Lost, hold.extend)
        self.redis.delete(new_key(self.key))
        with self.assertRaises(Lost) as lost:
            hold.extend()
        self.assertTrue(lost.exception.intruded)

    def test_a_client_that_is_not_synchronous_is_refused(self):
        clients = [self.redis.pipeline(), self.redis.pubsub()]
        with contextlib.suppress(ImportError):  # redis-py before 4.2
            asynchronous = importlib.import_module("redis.asyncio").Redis()
            clients += [asynchronous, asynchronous.pipeline()]
        wrapped = [wrap(client) for client in clients for wrap in (Wrapper, Proxy)]
        for client in [*clients, *wrapped, object(), None]:
            for make in TokenLock, lambda *args: BridgeLock(*args, ["php-getset"]):
                with self.assertRaisesRegex(TypeError, "redis.Redis"):
                    make(client, self.key, LONG)

    def test_a_wrapped_client_locks(self):
        for wrap in Wrapper, Proxy:
            for lock, key in self.each(client=wrap(self.redis)):
                with lock.held(timeout=1) as hold:
                    hold.extend()
                    self.assertEqual(self.redis.exists(key), 1)
                self.assertEqual(self.redis.exists(key, lock.key), 0)

    def test_a_client_of_several_databases_locks(self):
        try:
            multidb = importlib.import_module("redis.multidb.client")
            config = importlib.import_module("redis.multidb.config")
        except ImportError:
            self.skipTest("redis-py before 7.0, or without its extra circuit-breaker")
        database = config.DatabaseConfig(weight=1.0, from_url=os.environ["REDIS_URL"])
        client = multidb.MultiDBClient(config.MultiDbConfig(databases_config=[database]))
        self.addCleanup(getattr(client, "close", lambda: None))
        for lock, key in self.each(client=client):
            with lock.held(timeout=1) as hold:
                hold.extend()
                self.assertEqual(self.redis.exists(key), 1)
            self.assertEqual(self.redis.exists(key, lock.key), 0)
        self.assertRaises(TypeError, TokenLock, client.pipeline(), self.key, LONG)

    def test_only_the_reply_of_a_won_set_wins(self):
        lock = TokenLock(self.redis, self.key, LONG)
        for reply in "QUEUED", object(), b"":
            self.redis.set = lambda *args, _reply=reply, **options: _reply
            self.assertIsNone(lock.try_acquire(), reply)

    def test_an_interrupted_attempt_is_released_again(self):
        for lock, key in self.each():
            attempt = lock._attempt

            def interrupted(token):
                self.assertTrue(attempt(token))
                raise Interrupt

            lock._attempt = interrupted
            with self.assertRaises(Interrupt), lock.held(timeout=1):
                pass
            self.assertEqual(self.redis.exists(key, lock.key), 0)

    def test_an_interrupt_does_not_wait_for_a_server_that_does_not_answer(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            lock = TokenLock(redis.Redis(port=silent.getsockname()[1], socket_timeout=20), "k", LONG)

            def interrupted(token):
                raise Interrupt

            lock._attempt = interrupted
            since = time.monotonic()
            self.assertRaises(Interrupt, lock.try_acquire)
            self.assertLess(time.monotonic() - since, 15)

    def test_a_block_that_is_interrupted_at_its_ends_releases(self):
        for method in "keep_alive", "release":
            for lock, key in self.each():
                real, interrupts = getattr(lockshift.Hold, method), [Interrupt]

                def interrupted(hold):
                    if interrupts:
                        raise interrupts.pop()
                    return real(hold)

                with unittest.mock.patch.object(lockshift.Hold, method, interrupted):
                    with self.assertRaises(Interrupt), lock.held(timeout=1):
                        pass
                self.assertEqual(self.redis.exists(key, lock.key), 0)

    def test_a_block_that_cannot_start_its_renewal_releases(self):
        for lock, key in self.each():
            with unittest.mock.patch.object(threading.Thread, "start", side_effect=RuntimeError("can't start new thread")):
                with self.assertRaises(RuntimeError), lock.held(timeout=1):
                    pass
            self.assertEqual(self.redis.exists(key, lock.key), 0)

    @unittest.skipUnless(hasattr(os, "fork"), "this system has no fork")
    def test_a_fork_neither_renews_nor_releases(self):
        for lock, key in self.each():
            child, refused = None, []
            try:
                with lock.held(timeout=1) as hold:
                    child = os.fork()
                    if child:
                        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
                        self.assertEqual(self.redis.exists(key), 1, "the fork has left the block")
                        self.assertLessEqual(self.redis.pttl(key), 300_000, "the fork has called extend")
                        hold.extend()
                    else:
                        self.redis.pexpire(key, 300_000)
                        try:
                            hold.extend()
                        except Lost:
                            refused.append(hold.release())
            except Lost:
                refused.append(hold.release())
            finally:
                if child == 0:
                    os._exit(0 if refused == [Released.LOST] * 2 else 1)

    def test_a_release_whose_reply_is_lost_is_unknown_and_never_lost(self):
        options = dict(self.redis.connection_pool.connection_kwargs, retry_on_timeout=True)
        for make, single in (redis.Redis, False), (redis.Redis, True), (Routed, False):
            pool = redis.ConnectionPool(LosesReply, **options)
            self.addCleanup(pool.disconnect)
            client = make(connection_pool=pool, single_connection_client=single)
            for lock, key in self.each(client=client):
                hold = lock.try_acquire()
                LosesReply.lose = True
                for _ in "the first", "another":
                    self.assertRaises(OutcomeUnknown, hold.release)
                self.assertFalse(LosesReply.lose)
                self.assertEqual(self.redis.exists(key, lock.key), 0)

    def test_a_foreign_number_of_any_length_is_live(self):
        lock = BridgeLock(self.redis, self.key, LONG, ["php-getset"])
        for digits in b"9" * 400, b"9" * 5000, b"0" * 5000, b"1e400", b"1e-400", b"1." + b"0" * 5000:
            self.redis.set(self.key, digits)
            self.assertIsNone(lock.try_acquire(), digits[:9])
            self.assertEqual(self.redis.get(self.key), digits)

    def test_a_lease_is_between_a_millisecond_and_a_century(self):
        for lease in math.inf, -math.inf, math.nan, -1, 0, 0.0009, 101 * 366 * 86_400, 1e300:
            with self.assertRaisesRegex(ValueError, "century", msg=lease):
                TokenLock(self.redis, self.key, lease)
        for lease in 0.001, 100 * 365 * 86_400:
            for client_lock in TokenLock(self.redis, self.key, lease), BridgeLock(self.redis, self.key, lease, ["java-getset"]):
                self.assertTrue(client_lock.acquire(timeout=10).release())

    def test_a_lease_or_a_timeout_that_is_not_a_number_is_refused(self):
        for value in "5", None, True, [5], datetime.timedelta(seconds=5):
            with self.assertRaisesRegex(TypeError, "a lease is a number of seconds, not ", msg=value):
                TokenLock(self.redis, self.key, value)
            for lock, key in self.each():
                with self.assertRaisesRegex(TypeError, "a timeout is a number of seconds, not ", msg=value):
                    lock.acquire(value)
                with self.assertRaisesRegex(TypeError, "a timeout is a number of seconds, not "), lock.held(timeout=value):
                    self.fail("the block does not run")
                self.assertEqual(self.redis.exists(key), 0)
        for lock, _ in self.each():
            with self.assertRaisesRegex(ValueError, "a timeout is a number of seconds, not nan"):
                lock.acquire(math.nan)
        self.assertEqual(TokenLock(self.redis, self.key, decimal.Decimal("1.5"))._lease_ms, 1500)

    def test_a_timeout_that_has_passed_allows_one_attempt(self):
        for lock, _ in self.each():
            hold = lock.acquire(-1)
            with self.assertRaisesRegex(NotAcquired, "held by another client for 0 s$"):
                lock.acquire(-1)
            self.assertIs(hold.release(), Released.FREED)

    def test_a_key_of_another_type_is_held(self):
        for lock, key in self.each():
            self.redis.hset(key, "field", "value")
            self.assertIsNone(lock.try_acquire())
            self.assertEqual(self.redis.hgetall(key), {b"field": b"value"})
            self.redis.delete(key)
            hold = lock.try_acquire()
            self.redis.delete(key)
            self.redis.hset(key, "field", "value")
            self.assertRaises(Lost, hold.extend)
            self.assertIs(hold.release(), Released.LOST)
            self.assertEqual(self.redis.hgetall(key), {b"field": b"value"})
            self.redis.delete(key, lock.key)

    def test_a_key_can_be_bytes(self):
        key = self.key.encode() + b"\xff"
        self.assertEqual(new_key(key), b"{" + key + b"}:token")
        for lock in TokenLock(self.redis, key, LONG), BridgeLock(self.redis, key, LONG, ["php-getset"]):
            with lock.held(timeout=1) as hold:
                hold.extend()
                self.assertEqual(self.redis.exists(key), 1)
            self.assertEqual(self.redis.exists(key, new_key(key)), 0)

    def test_extend_renews_the_lease_of_both_keys(self):
        for lock, key in self.each():
            hold = lock.try_acquire()
            self.redis.pexpire(key, LONG * 1000 // 4)
            hold.extend()
            self.assertGreater(self.redis.pttl(key), LONG * 1000 / 2)

    def test_renewal_goes_on_after_an_error_of_the_server(self):
        for lock, _ in self.each(lease=6):
            hold = lock.try_acquire()
            failed = threading.Event()
            extend = lock._extend

            def fail_once(owner):
                if not failed.is_set():
                    failed.set()
                    raise redis.ResponseError("READONLY You can't write against a read only replica.")
                renewed.set()
                return extend(owner)

            renewed = threading.Event()
            lock._extend = fail_once
            hold.keep_alive()
            self.assertTrue(renewed.wait(60), "it is tried again")
            self.assertFalse(hold.lost)
            self.assertIs(hold.release(), Released.FREED)

    def test_a_server_that_does_not_answer_leaves_the_outcome_unknown(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            options = {"retry": None} if redis.VERSION >= (4,) else {}  # later ones try again by default
            client = redis.Redis(port=silent.getsockname()[1], socket_timeout=0.1, **options)
            for lock in TokenLock(client, "k", 1), BridgeLock(client, "k", 1, ["php-getset"]):
                self.assertRaises(OutcomeUnknown, lock.try_acquire)

    def test_a_fleet_that_no_stamp_keeps_out_is_refused(self):
        for dialects in ["no-such-dialect"], []:
            with self.assertRaises(lockshift.NotBridgeable):
                BridgeLock(self.redis, self.key, LONG, dialects)

    def test_dialects_that_are_one_string_are_refused(self):
        for dialects in "php-getset", b"php-getset":
            with self.assertRaisesRegex(TypeError, r"pass a list of names, as in \['php-getset'\]"):
                BridgeLock(self.redis, self.key, LONG, dialects)

    def test_the_new_key_is_in_the_slot_of_the_old_one(self):
        for key, new in ("invoices", "{invoices}:token"), ("job:{42}", "job:{42}:token"), ("{{a}", "{{a}:token"):
            self.assertEqual(new_key(key), new)
        # No hash tag is where the first braces have nothing in them, whatever follows.
        for key in "", "job:{}:{42}", "a}b":
            self.assertRaises(ValueError, new_key, key)

    def test_the_example_of_the_readme_runs(self):
        readme = (pathlib.Path(__file__).parents[1] / "README.md").read_text()
        [example] = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
        worked = []
        exec(example, {"work": lambda: worked.append(True)})
        self.assertEqual(worked, [True])


if __name__ == "__main__":
    unittest.main()
