-- KEYS[1] new lock, KEYS[2] old lock; ARGV[1] token. Deletes the new lock if it is ours, and with it the old one if that
-- is still as we wrote it: old clients that write back what they have read give it no time to live.
-- 1 freed; 2 freed, and the old lock was not as we wrote it; 0 not ours.
local mark = ARGV[1] .. ':'
local held = redis.call('get', KEYS[1])
if not held or string.sub(held, 1, #mark) ~= mark then
  return 0
end
redis.call('del', KEYS[1])
local left = string.sub(held, #mark + 1)
if left == '' or redis.pcall('get', KEYS[2]) ~= left or redis.call('pttl', KEYS[2]) < 0 then
  return 2
end
return redis.call('del', KEYS[2])
