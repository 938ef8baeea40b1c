// The two locks on the server that REDIS_URL names: `REDIS_URL=redis://127.0.0.1 npm test`.
'use strict';

const assert = require('node:assert');
const crypto = require('node:crypto');
const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { test, after, before } = require('node:test');

const Redis = require('ioredis');
const { createClient } = require('redis');
const lockshift = require('..');

const { BridgeLock, Lost, NotAcquired, NotBridgeable, OutcomeUnknown, TokenLock, newKey } = lockshift;
const LONG = 600_000;

const client = new Redis(process.env.REDIS_URL);
const nodeRedis = createClient({ url: process.env.REDIS_URL });
before(() => nodeRedis.connect());
after(() => Promise.all([client.quit(), nodeRedis.quit()]));

const newName = () => `tests:node:${crypto.randomBytes(8).toString('hex')}`;

/** Both locks on these clients, and the key that holds the token of each. */
function each(leaseMs = LONG, clients = [client, nodeRedis]) {
  return clients.flatMap((redis) => {
    const [plain, bridge] = [newName(), newName()];
    return [
      { lock: new TokenLock(redis, plain, leaseMs), key: plain },
      { lock: new BridgeLock(redis, bridge, leaseMs, ['php-getset']), key: newKey(bridge) },
    ];
  });
}

test('a held lock is refused until its release', async () => {
  for (const { lock, key } of each()) {
    const hold = await lock.tryAcquire();
    assert.strictEqual(await lock.tryAcquire(), null);
    await assert.rejects(lock.acquire(50), NotAcquired);
    assert.strictEqual(await hold.release(), 'freed');
    assert.strictEqual(await hold.release(), 'freed', 'a second call returns what the first has found');
    assert.strictEqual(await client.exists(key, lock.key), 0);
  }
});

test('acquire waits for the release', async () => {
  for (const { lock } of each()) {
    const hold = await lock.tryAcquire();
    setTimeout(() => hold.release(), 100);
    assert.strictEqual(await (await lock.acquire(60_000)).release(), 'freed');
  }
});

test('with releases, and the error of the work is the one it rejects with', async () => {
  for (const { lock, key } of each()) {
    assert.strictEqual(await lock.with(1000, async (hold) => (hold.lost ? 'lost' : 'worked')), 'worked');
    assert.strictEqual(await client.exists(key), 0);
    await assert.rejects(lock.with(1000, async () => {
      await client.set(key, "another client's");
      throw new RangeError('of the work');
    }), RangeError);
    assert.strictEqual(await client.get(key), "another client's", 'only what the hold has written is deleted');
  }
});

test('work that has lost the lock rejects with Lost', async () => {
  for (const { lock, key } of each()) {
    const work = lock.with(1000, () => client.set(key, "another client's"));
    await assert.rejects(work, (error) => error instanceof Lost && !error.intruded);
  }
});

test('an overwritten stamp is an intrusion, and aborts the signal', async () => {
  for (const redis of [client, nodeRedis]) {
    const name = newName();
    const lock = new BridgeLock(redis, name, LONG, ['php-getset']);
    const work = lock.with(1000, async (hold) => {
      await client.set(name, '1');
      await assert.rejects(hold.extend(), Lost);
      assert.ok(hold.lost && hold.signal.aborted);
    });
    await assert.rejects(work, (error) => error instanceof Lost && error.intruded);
  }
});

test('extend renews the lease of the token', async () => {
  for (const { lock, key } of each()) {
    const hold = await lock.tryAcquire();
    await client.pexpire(key, 1000);
    await hold.extend();
    assert.ok(await client.pttl(key) > LONG / 2);
  }
});

test('the signal aborts at the end of the lease while a renewal gets no reply', async () => {
  await Promise.all(each(1500).map(async ({ lock }) => {
    const hold = await lock.tryAcquire();
    lock.extendBy = () => new Promise(() => {});
    // Timers of a hold keep no process running.
    const running = setInterval(() => {}, 1000);
    hold.keepAlive();
    await once(hold.signal, 'abort');
    clearInterval(running);
    assert.ok(hold.lost);
    assert.ok(hold.signal.reason instanceof Lost);
  }));
});

test('a server that does not answer leaves the outcome unknown', async () => {
  const silent = net.createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const redis = new Redis(silent.address().port, '127.0.0.1', { commandTimeout: 100, enableReadyCheck: false });
  redis.on('error', () => {});
  for (const { lock } of each(1000, [redis])) await assert.rejects(lock.tryAcquire(), OutcomeUnknown);
  redis.disconnect();
  silent.close();
});

test('a connection that breaks before the reply leaves the outcome unknown', async () => {
  const sockets = new Set();
  // Answers what a client sends to introduce itself, and ends at the first attempt.
  const breaking = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', (sent) => {
      if (/\r\n(NX|EVAL|EVALSHA)\r\n/i.test(sent)) socket.destroy();
      else socket.write('+OK\r\n'.repeat(sent.toString('latin1').match(/(^|\n)\*\d/g).length));
    });
  }).listen(0, '127.0.0.1');
  await once(breaking, 'listening');
  const { port } = breaking.address();
  const options = { maxRetriesPerRequest: 0, retryStrategy: null, enableReadyCheck: false };
  const makers = [
    async () => new Redis(port, '127.0.0.1', options),
    () => createClient({ socket: { host: '127.0.0.1', port, reconnectStrategy: false } }).on('error', () => {}).connect(),
  ];
  for (const make of makers) {
    for (const number of [0, 1]) {
      const redis = await make();
      redis.on('error', () => {});
      await assert.rejects(each(1000, [redis])[number].lock.tryAcquire(), OutcomeUnknown);
      if (redis.isOpen) await redis.disconnect();
    }
  }
  sockets.forEach((socket) => socket.destroy());
  breaking.close();
});

test('a fleet that no stamp keeps out is refused', () => {
  for (const dialects of [['no-such-dialect'], []]) {
    assert.throws(() => new BridgeLock(client, newName(), LONG, dialects), NotBridgeable);
  }
});

test('the new key is in the slot of the old one', () => {
  for (const [key, expected] of [['invoices', '{invoices}:token'], ['job:{42}', 'job:{42}:token'], ['{{a}', '{{a}:token']]) {
    assert.strictEqual(newKey(key), expected);
  }
  // No hash tag is where the first braces have nothing in them, whatever follows.
  for (const key of ['', 'job:{}:{42}', 'a}b']) assert.throws(() => newKey(key), RangeError);
});

test('the example of the readme runs', async () => {
  const readme = fs.readFileSync(path.join(__dirname, '../README.md'), 'utf8');
  const [, example] = readme.match(/```js\n([^]*?)```/);
  const clients = [];
  class Client extends Redis {
    constructor(...args) {
      super(...args);
      clients.push(this);
    }
  }
  const modules = { ioredis: Client, lockshift };
  let worked = 0;
  const AsyncFunction = (async () => {}).constructor;
  const work = async ({ signal }) => { worked += signal.aborted ? 0 : 1; };
  await new AsyncFunction('require', 'process', 'work', example)((name) => modules[name], process, work);
  for (const one of clients) await one.quit();
  assert.strictEqual(worked, 1);
});
