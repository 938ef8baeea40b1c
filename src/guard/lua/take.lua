-- KEYS[1] lock; ARGV[1] stamp, ARGV[2] its time to live in ms, or '' for none, ARGV[3] and ARGV[4] the first and the last
-- moment at which it may be written, in microseconds by the server's clock; ARGV[5], if any, the value that was judged to be
-- expired. Writes the stamp at such a moment, if there is no key or if it holds exactly that value.
-- 1 written; else {seconds, microseconds, value}, as the look answers.
if redis.replicate_commands then
  redis.replicate_commands()
end
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]
local is_time = now >= tonumber(ARGV[3]) and now <= tonumber(ARGV[4])
if is_time and not ARGV[5] then
  local written
  if ARGV[2] == '' then
    written = redis.call('set', KEYS[1], ARGV[1], 'nx')
  else
    written = redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2])
  end
  if written then
    return 1
  end
end
local found = redis.pcall('get', KEYS[1])
if not is_time or found and found ~= ARGV[5] then
  if type(found) == 'table' then
    found = 1
  end
  return {time[1], time[2], found}
end
if ARGV[2] == '' then
  redis.call('set', KEYS[1], ARGV[1])
else
  redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
end
return 1
