-- KEYS the locks; ARGV[1] token, ARGV[2] lease in ms.
-- Lets all of them live that long from now if all of them hold the token. 1 extended, 0 one is not ours.
for _, key in ipairs(KEYS) do
  if redis.call('get', key) ~= ARGV[1] then
    return 0
  end
end
for _, key in ipairs(KEYS) do
  redis.call('pexpire', key, ARGV[2])
end
return 1
