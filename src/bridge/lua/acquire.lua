-- KEYS[1] new lock, KEYS[2] old lock, KEYS[3] counter, if it is fenced; ARGV[1] token, ARGV[2] lease in ms, ARGV[3] stamp,
-- ARGV[4], if any, the value of the old lock that was found to be over. Takes both locks, or none.
-- {1, count} won; {0, ms} the new lock is held that long; {2, value} the old lock holds this; {3} it is no string.
if redis.call('exists', KEYS[1]) == 1 then
  return {0, redis.call('pttl', KEYS[1])}
end
if redis.call('exists', KEYS[2]) == 1 then
  local found = redis.pcall('get', KEYS[2])
  if type(found) ~= 'string' then
    return {3}
  end
  if found ~= ARGV[4] then
    return {2, found}
  end
end
local count = KEYS[3] and redis.call('incr', KEYS[3]) or 0
redis.call('set', KEYS[1], ARGV[1] .. ':' .. ARGV[3], 'px', ARGV[2])
redis.call('set', KEYS[2], ARGV[3], 'px', ARGV[2])
return {1, count}
