if redis.call('exists', KEYS[1]) == 1 then
  local held, mark = redis.pcall('get', KEYS[1]), ARGV[1] .. ':'
  local is_own = type(held) == 'string' and string.sub(held, 1, #mark) == mark
  if not is_own or redis.pcall('get', KEYS[2]) ~= string.sub(held, #mark + 1) then
    return {0, redis.call('pttl', KEYS[1])}
  end
  redis.call('set', KEYS[1], mark .. ARGV[3], 'px', ARGV[2])
  redis.call('set', KEYS[2], ARGV[3], 'px', ARGV[2])
  return {1, tonumber(KEYS[3] and redis.call('get', KEYS[3]) or 0)}
end
if redis.call('exists', KEYS[2]) == 1 then
  local found = redis.pcall('get', KEYS[2])
  if type(found) ~= 'string' then
    return {3}
  end
  if found ~= ARGV[4] then
    return {2, found}
  end
end
local fence = 0
if KEYS[3] then
  local counted = redis.call('get', KEYS[3]) or '0'
  if not string.find(counted, '^%d+$') or tonumber(counted) >= 9007199254740991 then
    return redis.error_reply('NOFENCE the counter of this lock is not a count below 2^53: something else has written it')
  end
  if redis.replicate_commands then
    redis.replicate_commands()
  end
  local time = redis.call('time')
  fence = math.max(counted + 1, time[1] * 1000000 + time[2])
  redis.call('set', KEYS[3], string.format('%.0f', fence))
end
redis.call('set', KEYS[1], ARGV[1] .. ':' .. ARGV[3], 'px', ARGV[2])
redis.call('set', KEYS[2], ARGV[3], 'px', ARGV[2])
return {1, fence}
