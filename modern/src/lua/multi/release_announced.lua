-- Deletes those of the locks that hold the token, and publishes each release, which wakes all waiters of that lock.
-- KEYS the locks, then a channel for each; ARGV[1] token, ARGV[2] publish or spublish.
-- Returns how many were deleted.
local deleted, locks = 0, #KEYS / 2
for place = 1, locks do
  if redis.call('get', KEYS[place]) == ARGV[1] then
    deleted = deleted + redis.call('del', KEYS[place])
    redis.call(ARGV[2], KEYS[locks + place], '1')
  end
end
return deleted
