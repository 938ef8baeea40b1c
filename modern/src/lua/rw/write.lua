-- Acquires as a writer if the lock is free. If only readers hold, it keeps new readers out until the last lease of the
-- present ones ends. They may extend it, so that each attempt of the writer that waits keeps new readers out for longer,
-- and the next one is due before that ends: a stream of readers cannot starve a writer. An attempt that runs a second
-- time finds its own token, and its lease begins anew. A key of another type fails here, before anything is written.
-- KEYS[1] writer, KEYS[2] readers, KEYS[3] waiting writer; ARGV[1] token, ARGV[2] lease in ms.
-- Returns -1 if it was acquired, otherwise the ms after which the next attempt may succeed.
if redis.replicate_commands then
  redis.replicate_commands()
end
if redis.call('exists', KEYS[1]) == 1 then
  if redis.pcall('get', KEYS[1]) == ARGV[1] then
    redis.call('pexpire', KEYS[1], ARGV[2])
    return -1
  end
  return math.max(redis.call('pttl', KEYS[1]), 1)
end
local waiting = redis.call('get', KEYS[3])
local time = redis.call('time')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('zremrangebyscore', KEYS[2], '-inf', now_ms)
local last = redis.call('zrange', KEYS[2], -1, -1, 'withscores')
if last[2] then
  local left_ms = last[2] - now_ms
  if not waiting or waiting == ARGV[1] then
    redis.call('set', KEYS[3], ARGV[1], 'px', left_ms)
  end
  return math.max(math.floor(left_ms * 2 / 3), 1)
end
redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
redis.call('del', KEYS[3])
return -1
