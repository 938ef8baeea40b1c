-- Leaves the queue: the turn of every later waiter comes earlier by one waiting time.
-- KEYS[1] queue, KEYS[2] for each waiter until when the queue waits for it; ARGV[1] owner, ARGV[2] waiting time in ms.
local behind = false
for _, waiter in ipairs(redis.call('lrange', KEYS[1], 0, -1)) do
  if behind then
    redis.call('zincrby', KEYS[2], -tonumber(ARGV[2]), waiter)
  elseif waiter == ARGV[1] then
    behind = true
  end
end
redis.call('zrem', KEYS[2], ARGV[1])
redis.call('lrem', KEYS[1], 0, ARGV[1])
