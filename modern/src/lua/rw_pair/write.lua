-- Acquires as a writer unless a reader or a writer holds.
-- KEYS[1] readers' key, KEYS[2] writer's key; ARGV[1] lease in seconds.
-- Returns 1 if it was acquired, 0 if it is held.
local readKey, writeKey, timeout = KEYS[1], KEYS[2], ARGV[1]
local rExist = redis.call('EXISTS', readKey)
if rExist == 1 then
  return 0
else
  local result = redis.call('SET', writeKey, '1', 'EX', timeout, 'NX')
  if result then
    return 1
  else
    return 0
  end
end
