-- Extends the lease of each lock that its owner holds.
-- KEYS the locks; ARGV[1] lease in ms, from now, ARGV[2...] the owner of each.
-- Returns 1 or 0 for each.
local renewed = {}
for place, key in ipairs(KEYS) do
  renewed[place] = redis.call('hexists', key, ARGV[place + 1])
  if renewed[place] == 1 then
    redis.call('pexpire', key, ARGV[1])
  end
end
return renewed
