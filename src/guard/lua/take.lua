-- KEYS[1] lock; ARGV[1] stamp, ARGV[2] its time to live in ms, or '' for none, ARGV[3] the end of the client's lease in
-- microseconds by the server's clock; ARGV[4], if any, the value that was judged to be expired. Writes the stamp if there is
-- no key, or if it holds exactly that value.
-- {1} written; {0} the lease has ended; else {seconds, microseconds, value}, as the look answers.
if redis.replicate_commands then
  redis.replicate_commands()
end
local time = redis.call('time')
if time[1] * 1000000 + time[2] >= tonumber(ARGV[3]) then
  return {0}
end
local found = redis.pcall('get', KEYS[1])
if found and found ~= ARGV[4] then
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
return {1}
