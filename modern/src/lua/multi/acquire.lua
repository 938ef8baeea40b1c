-- KEYS the locks; ARGV[1] token, ARGV[2] lease in ms.
-- Takes all of them if all are free. Answers -1, or the ms until the last of those that are held may be free.
if redis.call('exists', unpack(KEYS)) == 0 then
  for _, key in ipairs(KEYS) do
    redis.call('set', key, ARGV[1], 'px', ARGV[2])
  end
  return -1
end
local wait_ms = 1
for _, key in ipairs(KEYS) do
  wait_ms = math.max(wait_ms, redis.call('pttl', key))
end
return wait_ms
