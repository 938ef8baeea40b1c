"""Two users of locks with one client of redis-py, in threads or in tasks of asyncio: see `run`."""

import asyncio
import sys
import threading
import time

import redis
import redis.asyncio

PORT = int(sys.argv[2])


def threads():
    client = redis.Redis(port=PORT)
    client.setnx("lock:a", 1)
    client.setnx("lock:b", 1)
    waiting = threading.Thread(target=client.blpop, args=("queue", 1))
    waiting.start()
    time.sleep(0.3)
    client.delete("lock:a")
    waiting.join()
    client.delete("lock:b")


async def tasks():
    client = redis.asyncio.Redis(port=PORT)
    await client.setnx("lock:a", 1)
    await client.setnx("lock:b", 1)
    waiting = asyncio.create_task(client.blpop("queue", 1))
    await asyncio.sleep(0.3)
    await client.delete("lock:a")
    await waiting
    await client.delete("lock:b")
    await client.aclose()


threads() if sys.argv[1] == "threads" else asyncio.run(tasks())
