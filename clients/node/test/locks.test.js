// The two locks on the server that REDIS_URL names: `REDIS_URL=redis://127.0.0.1 npm test`.
'use strict';

const assert = require('node:assert');
const { execFile, spawn } = require('node:child_process');
const crypto = require('node:crypto');
const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { test, after, before } = require('node:test');
const { promisify } = require('node:util');

const Redis = require('ioredis');
const { createClient, createCluster } = require('redis');
const lockshift = require('..');

const { BridgeLock, Lost, NotAcquired, NotBridgeable, OutcomeUnknown, TokenLock, newKey } = lockshift;
const LONG = 600_000;

const client = new Redis(process.env.REDIS_URL);
const nodeRedis = createClient({ url: process.env.REDIS_URL });
before(() => nodeRedis.connect());
after(() => Promise.all([client.quit(), nodeRedis.quit()]));

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
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

test('calls of release at the same time share one release, and a failed one can be repeated', async () => {
  for (const { lock } of each()) {
    const hold = await lock.tryAcquire();
    assert.deepStrictEqual(await Promise.all([hold.release(), hold.release()]), ['freed', 'freed']);
    const second = await lock.tryAcquire();
    const { releaseBy } = lock;
    lock.releaseBy = () => Promise.reject(new OutcomeUnknown('of the test'));
    await assert.rejects(Promise.all([second.release(), second.release()]), OutcomeUnknown);
    lock.releaseBy = releaseBy;
    assert.strictEqual(await second.release(), 'freed');
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

test('an intrusion that a renewal has seen is reported by release and with', async () => {
  const endings = [() => {}, (name) => client.del(newKey(name))];
  const cases = [client, nodeRedis].flatMap((redis) => endings.map((ending) => [redis, ending]));
  await Promise.all(cases.map(async ([redis, ending]) => {
    const name = newName();
    const lock = new BridgeLock(redis, name, 6000, ['php-getset']);
    const work = lock.with(1000, async (hold) => {
      await client.del(name);
      await once(hold.signal, 'abort');
      assert.ok(hold.signal.reason.intruded);
      assert.strictEqual(await client.exists(name), 1, 'the renewal has written the stamp again');
      await ending(name);
    });
    await assert.rejects(work, (error) => error instanceof Lost && error.intruded);
  }));
});

test('a recorded loss is reported even if the outcome of the release is unknown', async () => {
  const unanswered = () => Promise.reject(new OutcomeUnknown('of the test'));
  for (const { lock, key } of each()) {
    const { releaseBy } = lock;
    const hold = await lock.tryAcquire();
    await client.set(key, "another client's");
    await assert.rejects(hold.extend(), Lost);
    lock.releaseBy = unanswered;
    assert.strictEqual(await hold.release(), 'lost');
    await client.del(key, lock.key);
    lock.releaseBy = releaseBy;
    const work = lock.with(1000, async (held) => {
      await client.set(key, "another client's");
      await assert.rejects(held.extend(), Lost);
      lock.releaseBy = unanswered;
    });
    await assert.rejects(work, (error) => error instanceof Lost && !error.intruded);
  }
  for (const redis of [client, nodeRedis]) {
    const name = newName();
    const lock = new BridgeLock(redis, name, LONG, ['php-getset']);
    const hold = await lock.tryAcquire();
    await client.set(name, '1');
    await assert.rejects(hold.extend(), Lost);
    lock.releaseBy = unanswered;
    assert.strictEqual(await hold.release(), 'intruded');
  }
});

test('a key of another type is held by another client', async () => {
  for (const { lock, key } of each()) {
    await client.rpush(key, 'of a list');
    assert.strictEqual(await lock.tryAcquire(), null);
    await client.del(key);
    for (const isExtended of [false, true]) {
      const hold = await lock.tryAcquire();
      await client.del(key);
      await client.rpush(key, 'of a list');
      if (isExtended) await assert.rejects(hold.extend(), (error) => error instanceof Lost && !error.intruded);
      assert.strictEqual(await hold.release(), 'lost');
      assert.strictEqual(await client.type(key), 'list');
      await client.del(key, lock.key);
    }
  }
});

test('a recorded loss stays, even if the token comes back', async () => {
  for (const { lock, key } of each()) {
    const hold = await lock.tryAcquire();
    const own = await client.get(key);
    await client.set(key, "another client's");
    const loss = await hold.extend().catch((error) => error);
    assert.ok(loss instanceof Lost && !loss.intruded);
    await client.set(key, own, 'PX', LONG);
    await assert.rejects(hold.extend(), (error) => error === loss);
    assert.ok(hold.lost);
    assert.strictEqual(await hold.release(), 'lost');
    assert.strictEqual(await client.exists(key), 0);
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

/** Counts the renewals of a lock. */
function renewalsOf(lock) {
  const renewals = { count: 0 };
  const { extendBy } = lock;
  lock.extendBy = (...args) => {
    renewals.count += 1;
    return extendBy.apply(lock, args);
  };
  return renewals;
}

test('further calls of keepAlive add no renewals', async () => {
  await Promise.all(each(1500).map(async ({ lock }) => {
    const renewals = renewalsOf(lock);
    const hold = await lock.tryAcquire();
    assert.strictEqual(hold.keepAlive().keepAlive().keepAlive(), hold);
    await sleep(900);
    assert.strictEqual(renewals.count, 1);
    assert.strictEqual(await hold.release(), 'freed');
  }));
});

test('a lease that is longer than a timer can wait is not renewed at once', async () => {
  for (const { lock } of each(100 * 86_400_000)) {
    const renewals = renewalsOf(lock);
    const hold = (await lock.tryAcquire()).keepAlive();
    await sleep(100);
    assert.strictEqual(renewals.count, 0);
    assert.strictEqual(await hold.release(), 'freed');
  }
});

test('a lease is between a millisecond and a century', () => {
  const century = 100 * 365 * 86_400_000;
  for (const leaseMs of [NaN, undefined, null, Infinity, 0, -1, century + 1, '5000', true, [5000], 5000n]) {
    assert.throws(() => new TokenLock(client, newName(), leaseMs), RangeError);
    assert.throws(() => new BridgeLock(client, newName(), leaseMs, ['php-getset']), RangeError);
  }
  assert.strictEqual(new TokenLock(client, newName(), century).leaseMs, century);
});

test('a timeout that is not a number is refused', async () => {
  for (const { lock } of each()) {
    for (const timeoutMs of [undefined, null, NaN, '1000']) {
      await assert.rejects(lock.acquire(timeoutMs), RangeError);
      await assert.rejects(lock.with(timeoutMs, () => {}), RangeError);
    }
  }
});

test('a timeout that has passed allows one attempt', async () => {
  for (const { lock } of each()) {
    const hold = await lock.acquire(-1);
    await assert.rejects(lock.acquire(-1), /held by another client for 0 ms$/);
    assert.strictEqual(await hold.release(), 'freed');
  }
});

test('an infinite timeout waits until the lock is released', async () => {
  for (const { lock } of each()) {
    const hold = await lock.tryAcquire();
    setTimeout(() => hold.release(), 100);
    assert.strictEqual(await (await lock.acquire(Infinity)).release(), 'freed');
  }
});

test('a client in a transaction is refused, and works again when the transaction is discarded', async (context) => {
  const own = new Redis(process.env.REDIS_URL);
  const ownNodeRedis = await connected(nodeRedis.duplicate());
  context.after(() => Promise.all([own.quit(), ownNodeRedis.quit()]));
  const isRefusal = (error) => !(error instanceof OutcomeUnknown)
    && error.message === 'the client is in a transaction: discard it, do not exec it';
  for (const [redis, send] of [[own, (name) => own.call(name)], [ownNodeRedis, (name) => ownNodeRedis.sendCommand([name])]]) {
    for (const { lock, key } of each(LONG, [redis])) {
      await send('MULTI');
      await assert.rejects(lock.tryAcquire(), isRefusal);
      await assert.rejects(lock.acquire(Infinity), isRefusal);
      await send('DISCARD');
      assert.strictEqual(await client.exists(key, lock.key), 0);
      const hold = await lock.tryAcquire();
      await send('MULTI');
      await assert.rejects(hold.extend(), isRefusal);
      await assert.rejects(hold.release(), isRefusal);
      await send('DISCARD');
      assert.ok(!hold.lost);
      assert.strictEqual(await hold.release(), 'freed');
    }
  }
});

/** Of the old Java clients: eight bytes, some of which are not text. */
function expiredStamp() {
  const stamp = Buffer.alloc(8);
  stamp.writeBigInt64BE(BigInt(Date.now() - 60_000) | 0x80n);
  return stamp;
}

test('an expired stamp of eight bytes is taken over', async () => {
  for (const redis of [client, nodeRedis]) {
    const name = newName();
    await client.set(name, expiredStamp());
    const hold = await new BridgeLock(redis, name, LONG, ['java-getset']).tryAcquire();
    assert.strictEqual(await hold.release(), 'freed');
  }
});

test('a client that returns numbers as text works like any other', async (context) => {
  const redis = new Redis(process.env.REDIS_URL, { stringNumbers: true });
  context.after(() => redis.disconnect());
  for (const { lock } of each(LONG, [redis])) {
    const hold = await lock.tryAcquire();
    assert.strictEqual(await lock.tryAcquire(), null);
    await hold.extend();
    assert.strictEqual(await hold.release(), 'freed');
  }
});

test('a client with a keyPrefix is refused', () => {
  const options = { keyPrefix: 'app:', lazyConnect: true };
  for (const redis of [new Redis(options), new Redis.Cluster([{ port: 1 }], options)]) {
    const isRefusal = (error) => error instanceof TypeError && /without keyPrefix, and the whole key/.test(error.message);
    assert.throws(() => new TokenLock(redis, 'k', LONG), isRefusal);
    assert.throws(() => new BridgeLock(redis, 'k', LONG, ['php-getset']), isRefusal);
    redis.disconnect();
  }
});

test('a client in legacy mode is refused', async (context) => {
  const isVersion5 = typeof nodeRedis.legacy === 'function';
  const legacy = isVersion5 ? nodeRedis.legacy() : createClient({ url: process.env.REDIS_URL, legacyMode: true });
  assert.throws(() => new TokenLock(legacy, newName(), LONG), /^TypeError: .*legacy/);
  if (isVersion5) return;
  await legacy.connect();
  context.after(() => legacy.v4.quit());
  for (const { lock } of each(LONG, [legacy.v4])) {
    const hold = await lock.tryAcquire();
    assert.strictEqual(await lock.tryAcquire(), null);
    assert.strictEqual(await hold.release(), 'freed');
  }
});

test('a sentinel client of redis is refused', () => {
  const sentinel = { sendCommand() {}, getSentinelNode() {} };
  assert.throws(() => new TokenLock(sentinel, newName(), LONG), /^TypeError: a sentinel client .* pass a client of its master/);
});

test('a client that returns no reply never acquires', async () => {
  for (const { lock } of each(LONG, [{ sendCommand() {} }])) await assert.rejects(lock.tryAcquire(), OutcomeUnknown);
});

test('the clients of a cluster work', async (context) => {
  const clients = [];
  context.after(() => Promise.allSettled(clients.map(async (one) => one.disconnect())));
  const started = await startClusterServer(context);
  if (!started) return context.skip('needs redis-server');
  const { node, port } = started;
  await node.cluster('ADDSLOTS', ...Array(16_384).keys());
  const deadline = Date.now() + 60_000;
  while (!(await node.cluster('INFO')).includes('cluster_state:ok')) {
    assert.ok(Date.now() < deadline, 'the cluster is not ready after a minute');
    await sleep(50);
  }
  clients.push(new Redis.Cluster([{ host: '127.0.0.1', port }]));
  clients.push(await connected(createCluster({ rootNodes: [{ url: `redis://127.0.0.1:${port}` }] })));
  for (const { lock, key } of each(LONG, clients)) {
    const hold = await lock.tryAcquire();
    assert.strictEqual(await lock.tryAcquire(), null);
    await hold.extend();
    assert.strictEqual(await hold.release(), 'freed');
    assert.strictEqual(await node.exists(key), 0);
  }
  for (const redis of clients) {
    const name = newName();
    await node.set(name, expiredStamp());
    assert.ok(await new BridgeLock(redis, name, LONG, ['java-getset']).tryAcquire());
  }
});

/** A server of a cluster, which ends with the test, and a client of it; `null` if redis-server is not installed. */
async function startClusterServer(context) {
  for (let attempt = 1; ; attempt += 1) {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'lockshift-'));
    const port = await freePort();
    const options = ['--port', String(port), '--cluster-enabled', 'yes', '--dir', directory, '--save', ''];
    const address = ['--bind', '127.0.0.1', '--cluster-announce-ip', '127.0.0.1'];
    const server = spawn('redis-server', [...options, ...address], { stdio: 'ignore' });
    const ended = once(server, 'exit').then(([code]) => new Error(`it exited with ${code}`), (error) => error);
    const node = new Redis(port, { maxRetriesPerRequest: null });
    node.on('error', () => {});
    context.after(async () => {
      node.disconnect();
      server.kill();
      await ended;
      fs.rmSync(directory, { recursive: true });
    });
    const found = await Promise.race([node.info('server').catch((error) => error), ended]);
    if (found.code === 'ENOENT') return null;
    if (String(found).includes(`process_id:${server.pid}\r\n`)) return { node, port };
    // Another process may have taken one of the ports meanwhile.
    assert.ok(attempt < 5, `redis-server does not start: ${found}`);
  }
}

async function connected(redis) {
  await redis.connect();
  return redis;
}

/** A free port. A server of a cluster also listens on the port that is 10,000 higher: that one is free, too. */
async function freePort() {
  for (;;) {
    const port = await listenedOn(0);
    if (port + 10_000 < 65_536 && await listenedOn(port + 10_000)) return port;
  }
}

/** Listens on this port (0: any free one) for a moment and returns it; `null` if it is taken. */
async function listenedOn(wanted) {
  const server = net.createServer().listen(wanted, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return null;
  }
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

test('a release that the client may have sent twice is not taken for a loss', async (context) => {
  const { hostname, port } = new URL(process.env.REDIS_URL);
  const cut = { next: false };
  const sockets = new Set();
  // Passes everything on; once, it closes the connection instead of passing on the reply.
  const proxy = net.createServer((socket) => {
    const server = net.connect(Number(port) || 6379, hostname);
    for (const one of [socket, server]) sockets.add(one.on('error', () => {}));
    socket.on('data', (sent) => server.write(sent));
    server.on('data', (reply) => {
      if (!cut.next) return socket.write(reply);
      cut.next = false;
      return socket.destroy();
    });
    socket.on('close', () => server.destroy());
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const { username, password } = new URL(process.env.REDIS_URL);
  const redis = new Redis(proxy.address().port, '127.0.0.1', { username, password });
  redis.on('error', () => {});
  context.after(() => {
    redis.disconnect();
    sockets.forEach((socket) => socket.destroy());
    proxy.close();
  });
  for (const { lock, key } of each(LONG, [redis])) {
    const hold = await lock.tryAcquire();
    cut.next = true;
    await assert.rejects(hold.release(), OutcomeUnknown);
    assert.strictEqual(await client.exists(key), 0, 'the first of the two has released it');
    await assert.rejects(hold.release(), OutcomeUnknown, 'nor can a further release tell');
    const lost = await lock.tryAcquire();
    await client.set(key, "another client's");
    assert.strictEqual(await lost.release(), 'lost', 'a connection that has not closed sends once');
  }
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

test('dialects that are not a list are refused', () => {
  for (const dialects of ['php-getset', { name: 'php-getset' }, new Set(['php-getset'])]) {
    assert.throws(() => new BridgeLock(client, newName(), LONG, dialects), /^TypeError: .* pass a list of names/);
  }
  assert.throws(() => new BridgeLock(client, newName(), LONG), NotBridgeable);
});

test('an error has the name of its class', async () => {
  for (const type of [Lost, NotAcquired, NotBridgeable, OutcomeUnknown]) {
    const error = new type('of the test');
    assert.deepStrictEqual([error.name, String(error)], [type.name, `${type.name}: of the test`]);
    assert.ok(error.stack.startsWith(`${type.name}: of the test`) && Object.keys(error).every((key) => key === 'intruded'));
  }
});

test('the new key is in the slot of the old one', () => {
  for (const [key, expected] of [['invoices', '{invoices}:token'], ['job:{42}', 'job:{42}:token'], ['{{a}', '{{a}:token']]) {
    assert.strictEqual(newKey(key), expected);
  }
  // No hash tag is where the first braces have nothing in them, whatever follows.
  for (const key of ['', 'job:{}:{42}', 'a}b']) assert.throws(() => newKey(key), RangeError);
});

test('the example of the readme runs as it stands', async (context) => {
  const readme = fs.readFileSync(path.join(__dirname, '../README.md'), 'utf8');
  const [, example] = readme.match(/```js\n([^]*?)```/);
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'lockshift-'));
  context.after(() => fs.rmSync(directory, { recursive: true }));
  const modules = path.join(directory, 'node_modules');
  fs.mkdirSync(modules);
  fs.symlinkSync(path.join(__dirname, '..'), path.join(modules, 'lockshift'));
  fs.symlinkSync(path.dirname(require.resolve('ioredis/package.json')), path.join(modules, 'ioredis'));
  fs.writeFileSync(path.join(directory, 'example.js'), example);
  // Tests of other packages use the same key.
  await client.del('invoices', newKey('invoices'));
  const { stdout } = await promisify(execFile)(process.execPath, ['example.js'], { cwd: directory, timeout: 60_000 });
  assert.equal(stdout, 'working\n');
  assert.equal(await client.exists('invoices', newKey('invoices')), 0, 'both are released');
});

test('every export has its type', () => {
  const types = fs.readFileSync(path.join(__dirname, '../index.d.ts'), 'utf8');
  for (const name of Object.keys(lockshift)) assert.match(types, new RegExp(`^export (class|function) ${name}\\b`, 'm'));
});
