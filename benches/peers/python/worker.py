"""A lock library of Python: `worker.py LIBRARY PORT`. What it is asked and answers is described in ../src/worker.rs."""

import math
import sys
import threading
import time

import redis

LEASE = 30.0


def library(name, client):
    if name == "redis-py":
        def lock(key):
            one = client.lock(key, timeout=LEASE)
            return one.acquire, one.release
        return lock
    from pottery import Redlock

    def lock(key):
        one = Redlock(key=key, masters={client}, auto_release_time=LEASE)
        return one.acquire, one.release
    return lock


def cycles(lock, tasks, count):
    if tasks != 1:
        return "-"
    acquire, release = lock("peers-0")
    began = time.perf_counter_ns()
    for _ in range(count):
        assert acquire()
        release()
    return str(time.perf_counter_ns() - began)


def contend(lock, key, clients, length_ms, hold_ms):
    end = time.perf_counter_ns() + length_ms * 1_000_000
    results = []

    def client():
        acquire, release = lock(key)
        acquisitions, held, waits = 0, 0, []
        while time.perf_counter_ns() < end:
            waiting = time.perf_counter_ns()
            acquire()
            waits.append(time.perf_counter_ns() - waiting)
            if time.perf_counter_ns() >= end:
                release()
                break
            acquisitions += 1
            holding = time.perf_counter_ns()
            time.sleep(hold_ms / 1000)
            held += min(time.perf_counter_ns(), end) - holding
            release()
        results.append((acquisitions, held, waits))

    threads = [threading.Thread(target=client) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    waits = sorted(wait for _, _, waits in results for wait in waits)

    def percentile(percent):
        return waits[max(1, math.ceil(len(waits) * percent / 100)) - 1]

    return f"{sum(r[0] for r in results)} {sum(r[1] for r in results)} {percentile(50)} {percentile(99)}"


def main():
    name, port = sys.argv[1:]
    client = redis.Redis(port=int(port), max_connections=2000)
    client.ping()
    lock = library(name, client)
    print("ready", flush=True)
    for line in sys.stdin:
        words = line.split()
        if words[0] == "cycles":
            print(cycles(lock, int(words[1]), int(words[2])), flush=True)
        elif words[5] == "reads":
            print("-", flush=True)
        else:
            print(contend(lock, words[1], *map(int, words[2:5])), flush=True)


main()
