-- KEYS the locks, and behind them a channel for each; ARGV[1] token, ARGV[2] publish or spublish.
-- Deletes the locks that hold the token, and wakes all who wait for one of them. Answers how many were deleted.
local deleted, locks = 0, #KEYS / 2
for place = 1, locks do
  if redis.call('get', KEYS[place]) == ARGV[1] then
    deleted = deleted + redis.call('del', KEYS[place])
    redis.call(ARGV[2], KEYS[locks + place], '1')
  end
end
return deleted
