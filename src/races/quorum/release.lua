-- Deletes the lock if it holds the token.
-- KEYS[1] lock; ARGV[1] token.
-- Returns 1 if it was deleted, 0 if the lock is free or another owner's.
if redis.call("get", KEYS[1]) == ARGV[1] then
  return redis.call("del", KEYS[1])
else
  return 0
end
