-- Enters as a reader unless another owner is the writer. Each entry has a lease key of its own; the lock lives as long
-- as the longest of them.
-- KEYS[1] lock, KEYS[2] prefix of this reader's lease keys; ARGV[1] lease in ms, ARGV[2] the owner as a reader, ARGV[3]
-- the owner as a writer.
-- Returns nil if the owner has entered, otherwise the ms until the writer's lease ends.
local mode = redis.call('hget', KEYS[1], 'mode')
if not mode then
  redis.call('hset', KEYS[1], 'mode', 'read')
  redis.call('hset', KEYS[1], ARGV[2], 1)
  redis.call('set', KEYS[2] .. ':1', 1)
  redis.call('pexpire', KEYS[2] .. ':1', ARGV[1])
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
if mode == 'read' or mode == 'write' and redis.call('hexists', KEYS[1], ARGV[3]) == 1 then
  local lease = KEYS[2] .. ':' .. redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('set', lease, 1)
  redis.call('pexpire', lease, ARGV[1])
  redis.call('pexpire', KEYS[1], math.max(redis.call('pttl', KEYS[1]), ARGV[1]))
  return nil
end
return redis.call('pttl', KEYS[1])
