-- KEYS[1] lock hash, ARGV[1] the field of our side, ARGV[2] our stamp: removes the field if it still holds the stamp.
-- 1 removed, 0 not ours.
if redis.call('HGET', KEYS[1], ARGV[1]) == ARGV[2] then
  return redis.call('HDEL', KEYS[1], ARGV[1])
else
  return 0
end
