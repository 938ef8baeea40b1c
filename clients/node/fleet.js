// The stamp that a bridge writes into the old key, and how it judges the stamps of others. Both come from the two tables in
// `data`, which are generated from lockshift's catalogue of dialects. Values are handled as one character per byte.
'use strict';

const fs = require('fs');
const path = require('path');
const { inspect } = require('util');

const FAR_MS = 200 * 366 * 86_400_000; // twice the longest lease
const EARLIEST_MS = 1_230_768_000_000; // 2009: no lock is older than Redis
const LATEST_MS = 101 * 366 * 86_400_000; // the longest lease, a century, and a wrong clock

/** No stamp keeps this fleet out, or its dialects do not exclude each other. */
class NotBridgeable extends Error {}

function newKey(key) {
  // A hash tag stands between the first brace and the first that closes it: `{}:{42}` has none.
  if (/^[^{]*\{[^}]+\}/.test(key)) return `${key}:token`;
  if (key === '' || key.includes('}')) {
    throw new RangeError(`cannot derive the new key of '${key}': it is empty or has a brace without a hash tag`);
  }
  return `{${key}}:token`;
}

const data = (name) => fs.readFileSync(path.join(__dirname, 'data', name), 'utf8');

function table(name) {
  const rows = data(name).trimEnd().split('\n').map((line) => line.split('\t'));
  return new Map(rows.map(([id, ...columns]) => [id, columns]));
}

/** How a number becomes a value, and back. */
class Shape {
  constructor(template, unitMs, origin, pattern) {
    this.template = template;
    this.unitMs = Number(unitMs);
    this.origin = BigInt(origin);
    this.pattern = pattern === '-' ? null : new RegExp(`^(?:${pattern})$`);
  }

  /** The first stamp of this shape that is later than this moment by a unit. */
  write(momentMs, token) {
    const number = BigInt(Math.ceil(momentMs / this.unitMs)) + 1n + this.origin;
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64BE(number);
    const parts = {
      n: String(number),
      be8: bytes.toString('latin1'),
      le8: Buffer.from(bytes).reverse().toString('latin1'),
      pid: String(process.pid),
      thread: '1',
      hex: token,
      uuid: token.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'),
    };
    return this.template.replace(/\{(n|be8|le8|pid|thread|hex|uuid)\}/g, (_, part) => parts[part]);
  }

  /** The moment in a value, in milliseconds since 1970; `null` if it has another shape. */
  read(value) {
    const match = this.pattern && this.pattern.exec(value);
    if (!match) return null;
    const bytes = Buffer.from(match[1], 'latin1');
    let number;
    if (this.template.includes('{be8}')) number = Number(bytes.readBigInt64BE() - this.origin);
    else if (this.template.includes('{le8}')) number = Number(bytes.readBigInt64LE() - this.origin);
    else number = /^\d+$/.test(match[1]) ? Number(BigInt(match[1]) - this.origin) : Number(match[1]);
    return number * this.unitMs;
  }
}

/** The old clients that share a key. */
class Fleet {
  constructor(names) {
    const shapes = table('shapes.tsv');
    const dialects = table('dialects.tsv');
    if (!names || names.length === 0) throw new NotBridgeable('a bridge needs the dialects of the old clients');
    if (!Array.isArray(names)) {
      throw new TypeError(`the dialects ${inspect(names)} are not a list: pass a list of names, as in ['php-getset']`);
    }
    const unknown = names.filter((name) => !dialects.has(name));
    if (unknown.length > 0) throw new NotBridgeable(`no bridge is known for ${unknown.join(', ')}`);
    const rows = names.map((name) => {
      const [writes, stamp, graceMs, allowance, respects] = dialects.get(name);
      return { name, writes, stamp, graceMs: Number(graceMs), allowance, respects: respects.split(',') };
    });
    for (const row of rows) {
      const thief = rows.find((other) => other.name !== row.name && !other.respects.includes(row.writes));
      if (thief) throw new NotBridgeable(`${thief.name} takes over the locks of ${row.name} while they are held`);
    }
    const writer = rows.find((row) => rows.every((other) => other.respects.includes(row.stamp)));
    if (!writer) throw new NotBridgeable(`no stamp keeps out all of ${names.join(', ')}`);
    this.shape = new Shape(...shapes.get(writer.stamp));
    this.aheadMs = writer.stamp.endsWith('-far') ? FAR_MS : 0;
    this.readers = rows
      .filter((row) => row.allowance !== 'never')
      .map((row) => ({ ...row, shape: new Shape(...shapes.get(row.writes)) }));
  }

  /** The value that keeps the fleet out for this lease. */
  stamp(token, leaseMs, nowMs) {
    return this.shape.write(nowMs + leaseMs + this.aheadMs, token);
  }

  /** Whether a value of the old key is an expired lock. A value that no dialect of the fleet writes is live. */
  isExpired(value, leaseMs, nowMs) {
    const ends = this.readers.flatMap(({ shape, graceMs, allowance }) => {
      const moment = shape.read(value);
      if (moment === null || moment < EARLIEST_MS || moment > nowMs + LATEST_MS) return [];
      // A unit later than the stamp, or a millisecond: a bridge is never earlier than an old client.
      return [moment + Math.max(shape.unitMs, 1) + graceMs + (allowance === 'lease' ? leaseMs : 0)];
    });
    return ends.length > 0 && Math.max(...ends) < nowMs;
  }
}

module.exports = { Fleet, NotBridgeable, data, newKey };
