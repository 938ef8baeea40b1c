-- Extends the leases if all locks hold the token.
-- KEYS the locks; ARGV[1] token, ARGV[2] lease in ms, from now.
-- Returns 1 if they were extended, 0 if one of them is free or another owner's.
for _, key in ipairs(KEYS) do
  if redis.call('get', key) ~= ARGV[1] then
    return 0
  end
end
for _, key in ipairs(KEYS) do
  redis.call('pexpire', key, ARGV[2])
end
return 1
