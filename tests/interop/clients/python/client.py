"""A foreign client in Python, on standard input and output: `python client.py PORT [LIBRARY]`. What it is asked and what it
answers is described in tests/interop/foreign.rs. Without a library, the lock is that of whichever version of `redis` is
installed: 2.9.1 writes a stamp, the versions of today a token, and 2.10 has two locks that write tokens. A library is
`redset`, `retools`, `celery_once`, or the folder of this project's package."""

import os
import platform
import random
import sys
import time

import redis

# The classes of redis-py 2.10, whose protocols differ.
CLASSES = {"redis-py-2.10": "Lock", "redis-py-2.10-lua": "LuaLock"}


def options(dialect):
    return {"lock_class": getattr(redis.lock, CLASSES[dialect])} if dialect in CLASSES else {}


def timeout(dialect, lease_ms):
    """In seconds; a lock without one does not expire."""
    return None if dialect == "token,expiry=none" else int(lease_ms) / 1000


def connect():
    return redis.StrictRedis(host="127.0.0.1", port=int(sys.argv[1]))


class Locks:
    def __init__(self):
        self.redis = connect()
        self.held = {}

    def acquire(self, dialect, key, lease_ms):
        lease = int(lease_ms) / 1000
        lock = self.redis.lock(key, timeout=timeout(dialect, lease_ms), sleep=min(0.1, lease), **options(dialect))
        won = lock.acquire(blocking=False)
        if won:
            self.held[key] = lock
        return "won" if won else "held"

    def lock(self, dialect, key, lease_ms, patience_ms):
        """The library's own waiting."""
        lock = self.redis.lock(key, timeout=timeout(dialect, lease_ms), blocking_timeout=int(patience_ms) / 1000)
        won = lock.acquire()
        if won:
            self.held[key] = lock
        return "won" if won else "held"

    def release(self, key):
        self.held.pop(key).release()
        return "released"

    def extend(self, key, lease_ms):
        lock = self.held[key]
        if not hasattr(lock, "reacquire"):
            return "unspoken"
        return "extended" if lock.reacquire() else "lost"

    def work(self, dialect, key, witness, cycles, hold_ms, lease_ms):
        counter = connect()
        done = doubles = overruns = 0
        while done < int(cycles):
            began = time.monotonic()
            if self.acquire(dialect, key, lease_ms) == "won":
                doubles += counter.incr(witness) > 1
                time.sleep(int(hold_ms) / 1000)
                counter.decr(witness)
                overruns += time.monotonic() - began > int(lease_ms) / 1000
                self.release(key)
                done += 1
            time.sleep(random.uniform(0.0005, 0.0025))
        return "worked %d %d %d" % (done, doubles, overruns)

    def version(self):
        return "redis %s, Python %s" % (redis.__version__, platform.python_version_tuple()[0])

    def crash(self):
        os._exit(9)


def on_redis(library):
    from importlib.metadata import version

    return "%s %s on redis %s, Python %s" % (
        library, version(library), redis.__version__, platform.python_version_tuple()[0])


class Redset(Locks):
    """Its lock is a context manager that waits: with less patience than a pause, it tries once."""

    def acquire(self, dialect, key, lease_ms):
        from redset.exceptions import LockTimeout
        from redset.locks import Lock

        lock = Lock(self.redis, key, expires=int(lease_ms) / 1000, timeout=1e-6, poll_interval=1e-3)
        try:
            lock.__enter__()
        except LockTimeout:
            return "held"
        self.held[key] = lock
        return "won"

    def release(self, key):
        self.held.pop(key).__exit__(None, None, None)
        return "released"

    def version(self):
        return on_redis("redset")


class Retools(Locks):
    """Its lock waits by whole seconds: with no patience, it tries once."""

    def acquire(self, dialect, key, lease_ms):
        from retools.lock import Lock, LockTimeout

        lock = Lock(key, expires=int(lease_ms) // 1000, timeout=0, redis=self.redis)
        try:
            lock.acquire()
        except LockTimeout:
            return "held"
        self.held[key] = lock
        return "won"

    def version(self):
        return on_redis("retools")


class CeleryOnce(Locks):
    """The backend that its tasks lock through."""

    def __init__(self):
        from celery_once.backends.redis import Redis

        super().__init__()
        self.backend = Redis({"url": "redis://127.0.0.1:%s/0" % sys.argv[1]})

    def acquire(self, dialect, key, lease_ms):
        from celery_once.tasks import AlreadyQueued

        try:
            self.backend.raise_or_lock(key, int(lease_ms) // 1000)
        except AlreadyQueued:
            return "held"
        return "won"

    def release(self, key):
        return "released" if self.backend.clear_lock(key) else "refused"

    def version(self):
        return on_redis("celery_once")


class Package(Locks):
    """This project's package, from its source."""

    def lock_of(self, dialect, key, lease_ms):
        if dialect == "token":
            return lockshift.TokenLock(self.redis, key, int(lease_ms) / 1000)
        fleet = dialect[len("bridge:"):].split("+")
        return lockshift.BridgeLock(self.redis, key, int(lease_ms) / 1000, fleet)

    def acquire(self, dialect, key, lease_ms):
        hold = self.lock_of(dialect, key, lease_ms).try_acquire()
        if hold:
            self.held[key] = hold
        return "won" if hold else "held"

    def release(self, key):
        return "released" if self.held.pop(key).release() is lockshift.Released.FREED else "refused"

    def extend(self, key, lease_ms):
        try:
            self.held[key].extend()
        except lockshift.Lost:
            return "lost"
        return "extended"

    def lock(self, dialect, key, lease_ms, patience_ms):
        try:
            self.held[key] = self.lock_of(dialect, key, lease_ms).acquire(int(patience_ms) / 1000)
        except lockshift.NotAcquired:
            return "held"
        return "won"

    def hold(self, dialect, key, lease_ms, until):
        other = connect()
        try:
            with self.lock_of(dialect, key, lease_ms).held(timeout=60) as hold:
                while not (hold.lost or other.exists(until)):
                    time.sleep(0.02)
        except lockshift.Lost as lost:
            return "intruded" if lost.intruded else "lost"
        return "done"

    def version(self):
        return "lockshift on " + super().version()

    def stamp(self, fleet, token, lease_ms, now_ms):
        return Fleet(fleet.split("+")).stamp(token, int(lease_ms), float(now_ms)).hex()

    def judge(self, fleet, lease_ms, now_ms, value):
        expired = Fleet(fleet.split("+")).is_expired(bytes.fromhex(value), int(lease_ms), float(now_ms))
        return "expired" if expired else "live"


library = sys.argv[2] if len(sys.argv) > 2 else "redis"
if "/" in library:
    sys.path.insert(0, library)
    import lockshift
    from lockshift.dialects import Fleet

locks = {"redis": Locks, "redset": Redset, "retools": Retools, "celery_once": CeleryOnce}.get(library, Package)()
for line in iter(sys.stdin.readline, ""):
    session, verb, *args = line.split()
    try:
        answer = getattr(locks, verb)(*args)
    except Exception as error:
        answer = ("failed %s: %s" % (type(error).__name__, error)).replace("\n", " ")
    print(session, answer, flush=True)
