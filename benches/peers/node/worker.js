// A lock library of Node: `worker.js LIBRARY PORT`. What it is asked and answers is described in ../src/worker.rs.
'use strict';

const Redis = require('ioredis');
const readline = require('node:readline');

const [library, port] = process.argv.slice(2);
const LEASE = 30_000;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const now = () => process.hrtime.bigint();

const redis = new Redis({ host: '127.0.0.1', port: Number(port) });

const libraries = {
  'node-redlock': () => {
    const Redlock = require('redlock');
    // It waits for as long as it takes, with its own pauses.
    const locks = new Redlock([redis], { retryCount: -1 });
    return (key) => ({ acquire: () => locks.lock(key, LEASE), release: (held) => held.unlock() });
  },
  'redis-semaphore': () => {
    const { Mutex } = require('redis-semaphore');
    return (key) => ({
      acquire: async () => {
        const mutex = new Mutex(redis, key, { lockTimeout: LEASE, acquireTimeout: 3_600_000, refreshInterval: 0 });
        await mutex.acquire();
        return mutex;
      },
      release: (held) => held.release(),
    });
  },
};

const lock = libraries[library]();

async function cycles(tasks, count) {
  const began = now();
  await Promise.all(
    Array.from({ length: tasks }, async (_, task) => {
      const one = lock(`peers-${task}`);
      for (let cycle = 0; cycle < count; cycle++) await one.release(await one.acquire());
    }),
  );
  return `${now() - began}`;
}

async function contend(key, clients, length, hold) {
  const began = now();
  const end = began + BigInt(length) * 1_000_000n;
  const total = { acquisitions: 0, held: 0n, waits: [] };
  await Promise.all(
    Array.from({ length: clients }, async () => {
      const one = lock(key);
      while (now() < end) {
        const waiting = now();
        const acquired = one.acquire();
        const left = Number(end - waiting) / 1e6;
        const held = await Promise.race([acquired, sleep(left)]);
        total.waits.push(now() - waiting);
        if (held === undefined || now() >= end) {
          // What is won later is released all the same.
          acquired.then((late) => one.release(late)).catch(() => {});
          return;
        }
        total.acquisitions++;
        const holding = now();
        await sleep(hold);
        const until = now() < end ? now() : end;
        total.held += until - holding;
        await one.release(held);
      }
    }),
  );
  total.waits.sort((a, b) => (a < b ? -1 : 1));
  const percentile = (percent) => total.waits[Math.max(1, Math.ceil((total.waits.length * percent) / 100)) - 1];
  return `${total.acquisitions} ${total.held} ${percentile(50)} ${percentile(99)}`;
}

async function serve() {
  await redis.ping();
  console.log('ready');
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [request, ...words] = line.split(' ');
    if (request === 'cycles') console.log(await cycles(Number(words[0]), Number(words[1])));
    else if (words[4] === 'reads') console.log('-');
    else console.log(await contend(words[0], ...words.slice(1, 4).map(Number)));
  }
  process.exit(0);
}

serve();
