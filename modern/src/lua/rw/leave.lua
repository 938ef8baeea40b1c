-- Removes all traces of the token, and wakes all waiters if one of them may now acquire.
-- KEYS[1] writer, KEYS[2] readers, KEYS[3] waiting writer, KEYS[4] channel, if releases are published; ARGV[1] token,
-- ARGV[2] publish or spublish.
-- Returns 1 if the token held the lock, 0 if not.
local held, lets_in = 0, false
if redis.call('get', KEYS[1]) == ARGV[1] then
  held = redis.call('del', KEYS[1])
  lets_in = true
end
if redis.call('get', KEYS[3]) == ARGV[1] then
  redis.call('del', KEYS[3])
  lets_in = true
end
local score = redis.call('zscore', KEYS[2], ARGV[1])
if score then
  redis.call('zrem', KEYS[2], ARGV[1])
  local time = redis.call('time')
  local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
  if tonumber(score) > now_ms then
    held = 1
  end
  lets_in = lets_in or KEYS[4] and redis.call('zcount', KEYS[2], '(' .. now_ms, '+inf') == 0
end
if lets_in and KEYS[4] then
  redis.call(ARGV[2], KEYS[4], '1')
end
return held
