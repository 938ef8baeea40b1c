-- Acquires all locks if all are free. An attempt that runs a second time finds its own token in all of them: it holds
-- them, and the lease begins anew.
-- KEYS the locks; ARGV[1] token, ARGV[2] lease in ms.
-- Returns -1 if they were acquired, otherwise the ms until the last of the held ones may be free.
if redis.call('exists', unpack(KEYS)) == 0 then
  for _, key in ipairs(KEYS) do
    redis.call('set', key, ARGV[1], 'px', ARGV[2])
  end
  return -1
end
local wait_ms, own = 1, 0
for _, key in ipairs(KEYS) do
  if redis.pcall('get', key) == ARGV[1] then
    own = own + 1
  end
  wait_ms = math.max(wait_ms, redis.call('pttl', key))
end
if own < #KEYS then
  return wait_ms
end
for _, key in ipairs(KEYS) do
  redis.call('pexpire', key, ARGV[2])
end
return -1
