-- Writes both locks anew if the new one is the token's. A foreign value in the old one stays: its client may hold the lock. The old
-- lock is then not recorded as the bridge's own, and neither is one whose time to live another client has removed.
-- KEYS[1] new lock, KEYS[2] old lock; ARGV[1] token, ARGV[2] lease in ms, from now, ARGV[3] new stamp.
-- Returns 1 if both were extended, 2 if the old lock was not as written, 0 if the new lock is not the token's.
local mark = ARGV[1] .. ':'
local held = redis.call('get', KEYS[1])
if not held or string.sub(held, 1, #mark) ~= mark then
  return 0
end
local found = redis.pcall('get', KEYS[2])
local left = string.sub(held, #mark + 1)
local own = left ~= '' and found == left
local untouched = own and redis.call('pttl', KEYS[2]) >= 0
local stamp = (untouched or not found) and ARGV[3] or ''
redis.call('set', KEYS[1], mark .. stamp, 'px', ARGV[2])
if own or not found then
  redis.call('set', KEYS[2], ARGV[3], 'px', ARGV[2])
end
return untouched and 1 or 2
