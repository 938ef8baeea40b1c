-- Deletes those of the locks that hold the token.
-- KEYS the locks; ARGV[1] token.
-- Returns how many were deleted.
local deleted = 0
for _, key in ipairs(KEYS) do
  if redis.call('get', key) == ARGV[1] then
    deleted = deleted + redis.call('del', key)
  end
end
return deleted
