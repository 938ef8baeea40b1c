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
