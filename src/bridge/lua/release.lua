-- Deletes the new lock if it is the token's, and the old one with it if that is still as the bridge wrote it. A TTL is
-- part of that: old clients that write back what they have read do not set one.
-- KEYS[1] new lock, KEYS[2] old lock; ARGV[1] token.
-- Returns 1 if both were deleted, 2 if the old lock was not as written, 0 if the new lock is not the token's.
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
