// Redis locks for the way from the old timestamp lock to the token lock.
'use strict';

const crypto = require('crypto');
const { inspect } = require('util');
const { Fleet, NotBridgeable, data, newKey } = require('./fleet');
const { sender, checkRan, isOfAnotherType, isReply, InTransaction } = require('./connection');

const SCRIPTS = ['bridge-acquire', 'bridge-extend', 'bridge-release', 'token-extend', 'token-release'];
const TEXTS = Object.fromEntries(SCRIPTS.map((name) => [name, data(`${name}.lua`)]));
const RELEASED = ['lost', 'freed', 'intruded'];
const LONGEST_LEASE_MS = 100 * 365 * 86_400_000; // a century
const LONGEST_TIMER_MS = 2 ** 31 - 1; // setTimeout takes a longer one for a millisecond

/** The lock was held by another client until the timeout. */
class NotAcquired extends Error {}

/** The connection broke after a command that the server may have run. */
class OutcomeUnknown extends Error {}

/** The lock was not held to the end. `intruded`: an old client has overwritten or deleted the bridge's stamp. */
class Lost extends Error {
  constructor(message, intruded = false) {
    super(message);
    this.intruded = intruded;
  }
}

for (const type of [NotAcquired, OutcomeUnknown, Lost, NotBridgeable]) {
  Object.defineProperty(type.prototype, 'name', { value: type.name, configurable: true, writable: true });
}

const nowMs = () => Number(process.hrtime.bigint()) / 1e6;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** An acquired lock. */
class Hold {
  constructor(lock, token, since) {
    Object.assign(this, { lock, token, until: since + lock.leaseMs, loss: null, isKept: false, timer: null, expiry: null });
    Object.assign(this, { running: Promise.resolve(), released: false, releasing: null, mayBeFreed: false });
    this.controller = new AbortController();
  }

  /** Aborts when the lock is lost while `keepAlive` renews it. */
  get signal() {
    return this.controller.signal;
  }

  /** Whether the lock is lost: its lease has ended, another client has it, or an old client has intruded. */
  get lost() {
    return this.loss !== null || nowMs() >= this.until;
  }

  /** Milliseconds until the lease ends. */
  get remainingMs() {
    return Math.max(0, this.until - nowMs());
  }

  /** Renews the lease from now. Rejects with `Lost` or `OutcomeUnknown`; after a loss, always with that loss. */
  async extend() {
    if (this.loss) throw this.loss;
    const since = nowMs();
    const reply = await this.lock.extendBy(this.token);
    // Another call may have seen a loss meanwhile.
    if (this.loss) throw this.loss;
    if (reply === 1) {
      this.until = since + this.lock.leaseMs;
      return;
    }
    this.loss = reply === 2
      ? new Lost(`an old client has changed ${this.lock.key} while it was held`, true)
      : new Lost(`the lock ${this.lock.key} belongs to another client, or has expired`);
    this.controller.abort(this.loss);
    throw this.loss;
  }

  /** Renews the lease three times a lease, until release or loss. A further call changes nothing. */
  keepAlive() {
    if (this.isKept) return this;
    this.isKept = true;
    const renew = async () => {
      if (this.released) return;
      try {
        await this.extend();
        this.later(renew, this.lock.leaseMs / 3);
      } catch (error) {
        if (error instanceof Lost) return;
        // The lease still runs: sooner the next time.
        if (!this.lost) this.later(renew, this.lock.leaseMs / 30);
      }
    };
    this.later(renew, this.lock.leaseMs / 3);
    this.watch();
    return this;
  }

  /** Aborts the signal when the lease ends, even if a renewal gets no reply. */
  watch() {
    if (this.released || this.signal.aborted) return;
    const left = this.until - nowMs();
    if (left <= 0) {
      this.controller.abort(new Lost(`the lease of ${this.lock.key} has ended`));
      return;
    }
    this.expiry = setTimeout(() => this.watch(), Math.min(Math.ceil(left), LONGEST_TIMER_MS));
    if (this.expiry.unref) this.expiry.unref();
  }

  later(renew, ms) {
    if (this.released) return;
    this.timer = setTimeout(() => { this.running = renew(); }, Math.min(ms, LONGEST_TIMER_MS));
    if (this.timer.unref) this.timer.unref();
  }

  /** Releases the lock: 'freed', 'lost' or 'intruded'; a loss that `extend` or a renewal has seen counts, whether or not the
   * server answers. Only what this hold has written is deleted. A further call returns what the first finds. Rejects with
   * `OutcomeUnknown`, and can be called again. */
  release() {
    if (!this.releasing) {
      this.releasing = this.releaseOnce().catch((error) => {
        this.releasing = null;
        if (error instanceof OutcomeUnknown) this.mayBeFreed = true;
        throw error;
      });
    }
    return this.releasing;
  }

  async releaseOnce() {
    this.released = true;
    clearTimeout(this.timer);
    clearTimeout(this.expiry);
    await this.running;
    const closes = this.lock.send.closes();
    let found;
    try {
      found = RELEASED[await this.lock.releaseBy(this.token)];
    } catch (error) {
      if (!this.loss || !(error instanceof OutcomeUnknown)) throw error;
    }
    if (this.loss && found !== 'intruded') return this.loss.intruded ? 'intruded' : 'lost';
    if (found === 'lost' && !this.lost && (this.mayBeFreed || closes !== this.lock.send.closes())) {
      throw new OutcomeUnknown(`cannot tell whether ${this.lock.key} was lost or freed: its release may have run before`);
    }
    return found;
  }
}

/** What both locks share: attempts, waiting, scripts. */
class Lock {
  constructor(client, key, leaseMs) {
    // '5000' and [5000] would pass a comparison.
    if (typeof leaseMs !== 'number' || !(leaseMs >= 1 && leaseMs <= LONGEST_LEASE_MS)) {
      throw new RangeError(`a lease is a number of milliseconds, from one to a century, not ${inspect(leaseMs)}`);
    }
    // Everything sent is one character per byte; a key is UTF-8.
    const wireKey = Buffer.from(key).toString('latin1');
    Object.assign(this, { key, wireKey, leaseMs: Math.round(leaseMs), send: sender(client) });
  }

  /** One attempt: a hold, or `null` if another client holds the lock. */
  async tryAcquire() {
    const token = crypto.randomBytes(16).toString('hex');
    const since = nowMs();
    let won;
    try {
      won = await this.attempt(token);
    } catch (error) {
      if (isReply(error) || error instanceof NotBridgeable || error instanceof InTransaction) throw error;
      // It may have run: released again, as far as the server can be reached.
      await this.releaseBy(token).catch(() => {});
      throw new OutcomeUnknown(`cannot tell whether ${this.key} was acquired: ${error.message}`, { cause: error });
    }
    return won ? new Hold(this, token, since) : null;
  }

  /** Attempts for up to `timeoutMs`, or for ever if it is `Infinity`. Rejects with `NotAcquired`. */
  async acquire(timeoutMs) {
    if (typeof timeoutMs !== 'number' || Number.isNaN(timeoutMs)) {
      throw new RangeError(`a timeout is a number of milliseconds, not ${inspect(timeoutMs)}`);
    }
    const deadline = nowMs() + timeoutMs;
    for (let pause = 10; ; pause = Math.min(2 * pause, 500)) {
      try {
        const hold = await this.tryAcquire();
        if (hold) return hold;
      } catch (error) {
        if (!(error instanceof OutcomeUnknown) || nowMs() >= deadline) throw error;
      }
      const left = deadline - nowMs();
      if (left <= 0) throw new NotAcquired(`${this.key} was held by another client for ${Math.max(0, timeoutMs)} ms`);
      await sleep(Math.min(left, pause * (0.5 + Math.random() / 2)));
    }
  }

  /** Acquires, renews while `work(hold)` runs, and releases. Rejects with `Lost` if the lock was lost meanwhile. */
  async with(timeoutMs, work) {
    const hold = (await this.acquire(timeoutMs)).keepAlive();
    let result;
    try {
      result = await work(hold);
    } catch (error) {
      // The error of the work is the one to report.
      await hold.release().catch(() => {});
      throw error;
    }
    const released = await hold.release();
    if (released !== 'freed') throw new Lost(`${this.key} was lost before its release`, released === 'intruded');
    return result;
  }

  async run(name, keys, args) {
    return checkRan(await this.send('EVAL', TEXTS[name], keys.length, ...keys, ...args));
  }

  async settle(reply) {
    try {
      return Number(await reply);
    } catch (error) {
      // Then the key holds no token of ours.
      if (isOfAnotherType(error)) return 0;
      if (isReply(error) || error instanceof InTransaction) throw error;
      throw new OutcomeUnknown(`cannot tell what became of ${this.key}: ${error.message}`, { cause: error });
    }
  }
}

/** One lock of both generations: a stamp in `key` for the old clients of these dialects, a token in its new key. */
class BridgeLock extends Lock {
  constructor(client, key, leaseMs, dialects) {
    super(client, key, leaseMs);
    this.fleet = new Fleet(dialects);
    this.keys = [newKey(this.wireKey), this.wireKey];
  }

  async attempt(token) {
    const reply = await this.bid(token);
    if (reply[0] !== 2 || !this.fleet.isExpired(reply[1], this.leaseMs, Date.now())) return reply[0] === 1;
    // Replaces exactly the value that was judged.
    return (await this.bid(token, reply[1]))[0] === 1;
  }

  async bid(token, ...expired) {
    // Some clients are set to return numbers as text.
    const [result, found] = await this.run('bridge-acquire', this.keys, [token, this.leaseMs, this.stamp(token), ...expired]);
    return [Number(result), found];
  }

  extendBy(token) {
    return this.settle(this.run('bridge-extend', this.keys, [token, this.leaseMs, this.stamp(token)]));
  }

  releaseBy(token) {
    return this.settle(this.run('bridge-release', this.keys, [token]));
  }

  stamp(token) {
    return this.fleet.stamp(token, this.leaseMs, Date.now());
  }
}

/** The modern lock on one key; beside bridges, on `newKey('invoices')`. */
class TokenLock extends Lock {
  async attempt(token) {
    if (checkRan(await this.send('SET', this.wireKey, token, 'PX', this.leaseMs, 'NX')) === 'OK') return true;
    // A Redis client that sends a command again after it reconnected finds the token of its own first run.
    try {
      return (await this.send('GET', this.wireKey)) === token;
    } catch (error) {
      if (isOfAnotherType(error)) return false;
      throw error;
    }
  }

  extendBy(token) {
    return this.settle(this.run('token-extend', [this.wireKey], [token, this.leaseMs]));
  }

  releaseBy(token) {
    return this.settle(this.run('token-release', [this.wireKey], [token]));
  }
}

module.exports = { BridgeLock, Hold, Lost, NotAcquired, NotBridgeable, OutcomeUnknown, TokenLock, newKey };
