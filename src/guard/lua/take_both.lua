-- The take of a guard that holds the new key too, written as a bridge writes it. KEYS[1] new lock, KEYS[2] old lock; ARGV[1]
-- token, ARGV[2] stamp, ARGV[3] the time to live of both in ms, ARGV[4] and ARGV[5] the first and the last moment at which they
-- may be written, in microseconds by the server's clock; ARGV[6], if any, the value of the old lock that was judged to be expired.
-- Writes both at such a moment, if the new lock does not exist and the old one does not or holds exactly that value.
-- 1 written; 2 the new lock is held; else {seconds, microseconds, value}, as the look answers.
if redis.replicate_commands then
  redis.replicate_commands()
end
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]
if redis.call('exists', KEYS[1]) == 1 then
  return 2
end
local found = redis.pcall('get', KEYS[2])
if now < tonumber(ARGV[4]) or now > tonumber(ARGV[5]) or found and found ~= ARGV[6] then
  if type(found) == 'table' then
    found = 1
  end
  return {time[1], time[2], found}
end
redis.call('set', KEYS[1], ARGV[1] .. ':' .. ARGV[2], 'px', ARGV[3])
redis.call('set', KEYS[2], ARGV[2], 'px', ARGV[3])
return 1
