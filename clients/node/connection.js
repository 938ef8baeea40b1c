// What the Redis clients of Node do differently: ioredis, and node-redis from 4 on. Values are one character per byte.
'use strict';

const bytes = (value) => (Buffer.isBuffer(value) ? value : Buffer.from(String(value), 'latin1'));
const text = (reply) => {
  if (Array.isArray(reply)) return reply.map(text);
  return Buffer.isBuffer(reply) ? reply.toString('latin1') : reply;
};

/** How many connections of each client of ioredis have closed: it sends again on the next what got no reply on the last. */
const closesOf = new WeakMap();

function countCloses(client) {
  if (closesOf.has(client)) return;
  closesOf.set(client, 0);
  const count = () => closesOf.set(client, closesOf.get(client) + 1);
  // The second event is a cluster's, for the connection to one of its nodes.
  client.on('close', count).on('-node', count);
}

/** `send(COMMAND, ...args)`: sends one command and returns its reply. It was sent once if `send.closes()` has not changed. */
function sender(client) {
  if (typeof client.callBuffer === 'function') {
    if (client.options && client.options.keyPrefix) {
      // Some versions prefix the keys of a script and some do not, and none prefixes the new key inside its hash tag.
      throw new TypeError('a client with a keyPrefix is not supported: pass a client without keyPrefix, and the whole key');
    }
    countCloses(client);
    const send = async (name, ...args) => text(await client.callBuffer(name, ...args.map(bytes)));
    return Object.assign(send, { closes: () => closesOf.get(client) });
  }
  if (typeof client.sendCommand === 'function') return Object.assign(nodeRedisSender(client), { closes: () => 0 });
  throw new TypeError('expected a client of ioredis or of redis 4 or later');
}

function nodeRedisSender(client) {
  if ((client.options && client.options.legacyMode) || client.constructor.name === 'RedisLegacyClient') {
    throw new TypeError('a client in legacy mode is not supported: pass `client.v4` (redis 4), or `client` for `client.legacy()`');
  }
  if (typeof client.getSentinelNode === 'function') {
    throw new TypeError('a sentinel client of redis is not supported: pass a client of its master, or use ioredis');
  }
  const isCluster = typeof client.getSlotRandomNode === 'function';
  return async (name, ...args) => {
    const command = [name, ...args.map(bytes)];
    // Version 4 reads the first option, 5 the second. Each call gets its own: a cluster writes into them.
    const options = { returnBuffers: true, typeMapping: { 36: Buffer } };
    const firstKey = command[name === 'EVAL' ? 3 : 1];
    const reply = await (isCluster ? client.sendCommand(firstKey, false, command, options) : client.sendCommand(command, options));
    // Also a client in a legacy mode that was not recognised.
    if (reply === undefined) throw new TypeError('the client returns no reply');
    return text(reply);
  };
}

/** Whether the server has answered: an error reply, not a broken connection. */
const isReply = (error) => error.name === 'ReplyError' || /^(ErrorReply|SimpleError|BlobError)$/.test(error.constructor.name);

/** Whether the server refused to read the key because its value is not a string. */
// In a script, servers before 7.0 put words of their own before the error.
const isOfAnotherType = (error) => isReply(error) && error.message.includes('WRONGTYPE');

/** The client is between MULTI and EXEC, and the server has queued a command instead of running it. */
class InTransaction extends Error {}

/** Returns the reply of a SET or a script. Throws `InTransaction` if the command was queued. */
function checkRan(reply) {
  if (reply === 'QUEUED') throw new InTransaction('the client is in a transaction: discard it, do not exec it');
  return reply;
}

module.exports = { sender, checkRan, isOfAnotherType, isReply, InTransaction };
