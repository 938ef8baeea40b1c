-- KEYS[1] queue, KEYS[2] until when each in it is waited for; ARGV[1] owner, ARGV[2] for how many ms it would have waited.
-- Leaves the queue: everybody behind comes so much earlier.
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
