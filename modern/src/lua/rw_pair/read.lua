-- Acquires as a reader unless a writer holds.
-- KEYS[1] readers' key, KEYS[2] writer's key; ARGV[1] lease in seconds.
-- Returns 1 if it was acquired, 0 if a writer holds.
local readKey, writeKey, timeout = KEYS[1], KEYS[2], ARGV[1]
local wExist = redis.call('EXISTS', writeKey)
if wExist == 1 then
  return 0
else
  redis.call('SET', readKey, '1', 'EX', timeout)
end
return 1
