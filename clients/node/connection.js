// What the Redis clients of Node do differently: ioredis, and node-redis from 4 on. Values are one character per byte.
'use strict';

const bytes = (value) => (Buffer.isBuffer(value) ? value : Buffer.from(String(value), 'latin1'));
const text = (reply) => {
  if (Array.isArray(reply)) return reply.map(text);
  return Buffer.isBuffer(reply) ? reply.toString('latin1') : reply;
};

/** `send(COMMAND, ...args)`: sends one command and returns its reply. */
function sender(client) {
  if (typeof client.callBuffer === 'function') {
    return async (name, ...args) => text(await client.callBuffer(name, ...args.map(bytes)));
  }
  if (typeof client.sendCommand === 'function') {
    // node-redis 4 takes the choice of buffers as an option of the call, 5 as one of the client.
    const raw = typeof client.withTypeMapping === 'function' ? client.withTypeMapping({ 36: Buffer }) : client;
    return async (name, ...args) => text(await raw.sendCommand([name, ...args.map(bytes)], { returnBuffers: true }));
  }
  throw new TypeError('expected a client of ioredis or of redis 4 or later');
}

/** Whether the server has answered: an error reply, not a broken connection. */
const isReply = (error) => error.name === 'ReplyError' || /^(ErrorReply|SimpleError|BlobError)$/.test(error.constructor.name);

module.exports = { sender, isReply };
