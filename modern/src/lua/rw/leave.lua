-- KEYS[1] writer, KEYS[2] readers, KEYS[3] waiting writer; ARGV[1] token.
-- Removes every trace of the token. 1 it held, 0 it did not.
local held = 0
if redis.call('get', KEYS[1]) == ARGV[1] then
  held = redis.call('del', KEYS[1])
end
if redis.call('get', KEYS[3]) == ARGV[1] then
  redis.call('del', KEYS[3])
end
local score = redis.call('zscore', KEYS[2], ARGV[1])
if score then
  redis.call('zrem', KEYS[2], ARGV[1])
  local time = redis.call('time')
  if tonumber(score) > time[1] * 1000 + math.floor(time[2] / 1000) then
    held = 1
  end
end
return held
