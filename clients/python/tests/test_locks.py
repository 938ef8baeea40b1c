"""The two locks on the server that REDIS_URL names: `REDIS_URL=redis://127.0.0.1 python -m unittest discover python/tests`."""

import os
import pathlib
import re
import secrets
import socket
import threading
import unittest

import redis

import lockshift
from lockshift import BridgeLock, Lost, NotAcquired, OutcomeUnknown, Released, TokenLock, new_key

LONG = 600


class Locks(unittest.TestCase):
    def setUp(self):
        self.redis = redis.Redis.from_url(os.environ["REDIS_URL"])
        self.addCleanup(self.redis.close)
        self.key = "tests:python:" + secrets.token_hex(8)

    def each(self, lease=LONG):
        """Both locks, and the key that holds the token of each."""
        yield TokenLock(self.redis, self.key, lease), self.key
        bridge = self.key + ":bridge"
        yield BridgeLock(self.redis, bridge, lease, ["php-getset"]), new_key(bridge)

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

    def test_extend_renews_the_lease_of_both_keys(self):
        for lock, key in self.each():
            hold = lock.try_acquire()
            self.redis.pexpire(key, 1000)
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
            client = redis.Redis(port=silent.getsockname()[1], socket_timeout=0.1, retry=None)
            for lock in TokenLock(client, "k", 1), BridgeLock(client, "k", 1, ["php-getset"]):
                self.assertRaises(OutcomeUnknown, lock.try_acquire)

    def test_a_fleet_that_no_stamp_keeps_out_is_refused(self):
        for dialects in ["no-such-dialect"], []:
            with self.assertRaises(lockshift.NotBridgeable):
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
