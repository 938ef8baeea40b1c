/** A client of ioredis (4 or later) or of redis (4 or later), single or cluster. Constructors throw a `TypeError` for others,
 * and for a client of ioredis with a `keyPrefix`, a client of redis in legacy mode, and a sentinel client of redis. */
export type RedisClient = object;

/** The lock was held by another client until the timeout. */
export class NotAcquired extends Error {}
/** No stamp keeps this fleet out, or its dialects do not exclude each other. */
export class NotBridgeable extends Error {}
/** The connection broke after a command that the server may have run. */
export class OutcomeUnknown extends Error {}
/** The lock was not held to the end. */
export class Lost extends Error {
  /** Whether an old client has overwritten or deleted the bridge's stamp. */
  readonly intruded: boolean;
}

/** 'lost': the lease had ended, or another client had the lock.
 * 'intruded': an old client has changed the old key while the lock was held. */
export type Released = 'freed' | 'lost' | 'intruded';

/** An acquired lock. */
export class Hold {
  private constructor();
  /** Aborts when the lock is lost while `keepAlive` renews it. */
  readonly signal: AbortSignal;
  /** Whether the lock is lost. */
  readonly lost: boolean;
  readonly remainingMs: number;
  /** Renews the lease from now. Rejects with `Lost` or `OutcomeUnknown`; after a loss, always with that loss. */
  extend(): Promise<void>;
  /** Renews the lease three times a lease, until release or loss. A further call changes nothing. */
  keepAlive(): this;
  /** Releases the lock. A further call returns what the first finds. Rejects with `OutcomeUnknown`, and can be called again. */
  release(): Promise<Released>;
}

declare abstract class Lock {
  readonly key: string;
  readonly leaseMs: number;
  /** One attempt: a hold, or `null` if another client holds the lock. */
  tryAcquire(): Promise<Hold | null>;
  /** Attempts for up to `timeoutMs`, or for ever if it is `Infinity`. Rejects with `NotAcquired`, or with a `RangeError` if
   * `timeoutMs` is not a number or is `NaN`. */
  acquire(timeoutMs: number): Promise<Hold>;
  /** Acquires, renews while `work(hold)` runs, and releases. Rejects with `Lost` if the lock was lost meanwhile. */
  with<T>(timeoutMs: number, work: (hold: Hold) => Promise<T> | T): Promise<T>;
}

/** One lock of both generations: a stamp in `key` for the old clients of these dialects, a token in its new key. */
export class BridgeLock extends Lock {
  /** `leaseMs`: from a millisecond to a century. Throws a `TypeError` for dialects that are not an array. */
  constructor(client: RedisClient, key: string, leaseMs: number, dialects: readonly string[]);
}

/** The modern lock on one key; beside bridges, on `newKey('invoices')`. */
export class TokenLock extends Lock {
  /** `leaseMs`: from a millisecond to a century. */
  constructor(client: RedisClient, key: string, leaseMs: number);
}

/** The key beside `key`, in the same slot of a cluster, that clients of the token lock use: `{invoices}:token`. */
export function newKey(key: string): string;
