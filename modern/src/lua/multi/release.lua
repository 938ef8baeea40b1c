-- KEYS the locks; ARGV[1] token: deletes those that hold the token, and answers how many.
local deleted = 0
for _, key in ipairs(KEYS) do
  if redis.call('get', key) == ARGV[1] then
    deleted = deleted + redis.call('del', key)
  end
end
return deleted
