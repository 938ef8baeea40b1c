// A foreign client in JavaScript, on standard input and output: `node client.js PACKAGE PORT...`. What it is asked and what
// it answers is described in tests/interop/foreign.rs.
'use strict';

const readline = require('readline');
const { promisify } = require('util');

const [, , name, ...ports] = process.argv;
const [port] = ports;
const connect = (to = port, options = {}) => require('redis').createClient({ host: '127.0.0.1', port: Number(to), ...options });
const sleep = promisify(setTimeout);

// The package waits for ever; one lap of it is one try. It is given a client on which a second SETNX, or SET of the
// versions from 0.1.0, is never answered.
function redisLock() {
  const client = connect();
  const held = new Map();
  return {
    acquire: (dialect, key, leaseMs) => new Promise((resolve) => {
      let tries = 0;
      const oneLap = {
        setnx: (...args) => (++tries === 1 ? client.setnx(...args) : resolve('held')),
        set: (...args) => (++tries === 1 ? client.set(...args) : resolve('held')),
        get: client.get.bind(client),
        getset: client.getset.bind(client),
        del: client.del.bind(client),
      };
      require(name)(oneLap, 1)(key.replace(/^lock\./, ''), leaseMs, (done) => {
        held.set(key, done);
        resolve('won');
      });
    }),
    release: (key) => new Promise((resolve, reject) => {
      held.get(key)((error, deleted) => (error ? reject(error) : resolve(deleted ? 'released' : 'refused')));
    }),
    extend: async () => 'unspoken',
  };
}

// Its lock is a step of its engine, with a lease for all and a callback for the winner only: a try that has no command
// under way and has called nobody back was refused. The engine brings its own connection, which is counted here.
function fayeRedis() {
  const NAMESPACE = 'lock.';
  const server = { timeout: 60, debug() {}, trigger() {} };
  const engine = require('faye-redis').create(server, { port: Number(port), namespace: NAMESPACE, gc: 3600 });
  const real = engine._redis;
  const held = new Map();
  // Sees every command of a try, and when none is under way any more.
  const counted = (done) => {
    let [underWay, replies] = [0, []];
    const send = (command) => (...args) => {
      const callback = typeof args[args.length - 1] === 'function' ? args.pop() : () => {};
      underWay += 1;
      real[command](...args, (error, reply) => {
        replies.push(reply);
        callback(error, reply);
        underWay -= 1;
        if (underWay === 0) done(replies);
      });
    };
    return Object.fromEntries(['setnx', 'get', 'getset', 'del'].map((command) => [command, send(command)]));
  };
  return {
    acquire: (dialect, key, leaseMs) => new Promise((resolve) => {
      engine.LOCK_TIMEOUT = leaseMs / 1000;
      engine._redis = counted(() => resolve('held'));
      engine._withLock(key.slice(`${NAMESPACE}/locks/`.length), (release) => {
        held.set(key, release);
        resolve('won');
      });
    }),
    // It deletes while the lease runs, and says nothing.
    release: (key) => new Promise((resolve) => {
      let asks = false;
      const one = counted(([deleted]) => resolve(deleted ? 'released' : 'refused'));
      engine._redis = { del: (...args) => { asks = true; one.del(...args); } };
      held.get(key)();
      if (!asks) resolve('refused');
    }),
    extend: async () => 'unspoken',
  };
}

function redislock() {
  const redislock = require('redislock');
  const client = connect();
  const held = new Map();
  return {
    acquire: async (dialect, key, leaseMs) => {
      const lock = redislock.createLock(client, { timeout: leaseMs, retries: 0 });
      try {
        await lock.acquire(key);
      } catch (error) {
        if (error.message === `Could not acquire lock on "${key}"`) return 'held';
        throw error;
      }
      held.set(key, lock);
      return 'won';
    },
    release: async (key) => {
      await held.get(key).release();
      return 'released';
    },
    extend: async (key, leaseMs) => {
      await held.get(key).extend(leaseMs);
      return 'extended';
    },
  };
}

// On one server or on several.
function redlock() {
  const Redlock = require('redlock');
  // A server that is down is one vote less: no command waits for it to come back.
  const servers = ports.map((one) => connect(one, { enable_offline_queue: false }));
  servers.forEach((server) => server.on('error', () => {}));
  const ready = Promise.all(servers.map((server) => new Promise((resolve) => server.once('ready', resolve))));
  const lockers = new Redlock(servers, { retryCount: 0 });
  const held = new Map();
  return {
    acquire: async (dialect, key, leaseMs) => {
      await ready;
      try {
        held.set(key, await lockers.lock(key, leaseMs));
        return 'won';
      } catch (error) {
        if (error instanceof Redlock.LockError) return 'held';
        throw error;
      }
    },
    release: async (key) => {
      await held.get(key).unlock();
      return 'released';
    },
    extend: async (key, leaseMs) => {
      held.set(key, await held.get(key).extend(leaseMs));
      return 'extended';
    },
  };
}

// This project's package, from its source.
function lockshift() {
  const { BridgeLock, TokenLock, Lost, NotAcquired } = require('../../../../clients/node');
  const { Fleet } = require('../../../../clients/node/fleet');
  const Redis = require('ioredis');
  const client = new Redis(Number(port));
  const held = new Map();
  const fleet = (words) => new Fleet(words.split('+'));
  const lockOf = (dialect, key, leaseMs) => (
    dialect === 'token'
      ? new TokenLock(client, key, leaseMs)
      : new BridgeLock(client, key, leaseMs, dialect.slice('bridge:'.length).split('+'))
  );
  return {
    acquire: async (dialect, key, leaseMs) => {
      const hold = await lockOf(dialect, key, leaseMs).tryAcquire();
      if (hold) held.set(key, hold);
      return hold ? 'won' : 'held';
    },
    lock: async (dialect, key, leaseMs, patienceMs) => {
      try {
        held.set(key, await lockOf(dialect, key, Number(leaseMs)).acquire(Number(patienceMs)));
        return 'won';
      } catch (error) {
        if (error instanceof NotAcquired) return 'held';
        throw error;
      }
    },
    hold: async (dialect, key, leaseMs, until) => {
      try {
        await lockOf(dialect, key, Number(leaseMs)).with(60_000, async ({ signal }) => {
          while (!signal.aborted && !await client.exists(until)) await sleep(20);
        });
        return 'done';
      } catch (error) {
        if (!(error instanceof Lost)) throw error;
        return error.intruded ? 'intruded' : 'lost';
      }
    },
    // Its commands take a callback, too.
    counter: () => new Redis(Number(port)),
    release: async (key) => (await held.get(key).release() === 'freed' ? 'released' : 'refused'),
    extend: async (key) => {
      try {
        await held.get(key).extend();
        return 'extended';
      } catch (error) {
        if (error instanceof Lost) return 'lost';
        throw error;
      }
    },
    version: async () => `lockshift on ioredis ${require('ioredis/package.json').version}, Node`,
    stamp: async (words, token, leaseMs, nowMs) => (
      Buffer.from(fleet(words).stamp(token, Number(leaseMs), Number(nowMs)), 'latin1').toString('hex')
    ),
    judge: async (words, leaseMs, nowMs, hex) => {
      const value = Buffer.from(hex, 'hex').toString('latin1');
      return fleet(words).isExpired(value, Number(leaseMs), Number(nowMs)) ? 'expired' : 'live';
    },
  };
}

const locks = (name.startsWith('redis-lock') ? redisLock : { redislock, redlock, 'faye-redis': fayeRedis, lockshift }[name])();

async function work(dialect, key, witness, cycles, holdMs, leaseMs) {
  const counter = locks.counter ? locks.counter() : connect();
  const incr = promisify(counter.incr).bind(counter);
  const decr = promisify(counter.decr).bind(counter);
  let [done, doubles, overruns] = [0, 0, 0];
  while (done < Number(cycles)) {
    const began = process.hrtime.bigint();
    if (await locks.acquire(dialect, key, Number(leaseMs)) === 'won') {
      doubles += (await incr(witness)) > 1;
      await sleep(Number(holdMs));
      await decr(witness);
      overruns += Number(process.hrtime.bigint() - began) / 1e6 > Number(leaseMs);
      await locks.release(key);
      done += 1;
    }
    await sleep(Math.random() * 2);
  }
  counter.quit();
  return `worked ${done} ${doubles} ${overruns}`;
}

const questions = {
  acquire: (dialect, key, leaseMs) => locks.acquire(dialect, key, Number(leaseMs)),
  release: locks.release,
  extend: (key, leaseMs) => locks.extend(key, Number(leaseMs)),
  work,
  version: locks.version || (async () => {
    const { name: published, version } = require(`${name}/package.json`);
    return `${published} ${version}, Node`;
  }),
  lock: locks.lock,
  hold: locks.hold,
  stamp: locks.stamp,
  judge: locks.judge,
  crash: () => process.kill(process.pid, 'SIGKILL'),
};

const lines = readline.createInterface({ input: process.stdin });
lines.on('line', async (line) => {
  const [session, verb, ...args] = line.split(' ');
  let answer;
  try {
    answer = await questions[verb](...args);
  } catch (error) {
    answer = `failed ${error.name}: ${error.message}`.replace(/\n/g, ' ');
  }
  console.log(`${session} ${answer}`);
});
lines.on('close', () => process.exit());
