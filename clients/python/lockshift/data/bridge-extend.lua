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
