-- KEYS[1] lock. {seconds, microseconds, value} by the server's clock; the value is nil without a key, 1 if it is not a string.
local found = redis.pcall('get', KEYS[1])
local time = redis.call('time')
if type(found) == 'table' then
  found = 1
end
return {time[1], time[2], found}
