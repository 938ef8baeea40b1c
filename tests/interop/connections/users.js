// Two users of locks with one client of a Node package: see `run`.
'use strict';

const [, , which, port] = process.argv;
const pause = () => new Promise((done) => setTimeout(done, 300));

// One client as each package makes it, and its four commands as promises.
const clients = {
  'node-redis-4': async () => {
    const client = require('redis').createClient({ url: `redis://127.0.0.1:${port}` });
    await client.connect();
    return {
      setnx: (key) => client.setNX(key, '1'),
      del: (key) => client.del(key),
      wait: () => client.blPop('queue', 1),
      end: () => client.quit(),
    };
  },
  'node-redis-3': async () => {
    const client = require('redis').createClient({ port });
    const promise = (name, ...words) =>
      new Promise((done, fail) => client[name](...words, (error, reply) => (error ? fail(error) : done(reply))));
    return {
      setnx: (key) => promise('setnx', key, '1'),
      del: (key) => promise('del', key),
      wait: () => promise('blpop', 'queue', 1),
      end: () => promise('quit'),
    };
  },
  ioredis: async () => {
    const Redis = require('ioredis');
    const client = new Redis({ port });
    return {
      setnx: (key) => client.setnx(key, '1'),
      del: (key) => client.del(key),
      wait: () => client.blpop('queue', 1),
      end: () => client.quit(),
    };
  },
};

(async () => {
  const client = await clients[which]();
  await client.setnx('lock:a');
  await client.setnx('lock:b');
  const waiting = client.wait();
  await pause();
  await client.del('lock:a');
  await waiting;
  await client.del('lock:b');
  await client.end();
})();
