-- KEYS[1] lock; ARGV[1] the stamp that was written, ARGV[2] '1' if it was written with a time to live. Deletes the lock if it
-- is as it was written: old clients that write back what they have read give it no time to live. 1 deleted, 0 not ours.
if redis.pcall('get', KEYS[1]) ~= ARGV[1] then
  return 0
end
if ARGV[2] == '1' and redis.call('pttl', KEYS[1]) < 0 then
  return 0
end
return redis.call('del', KEYS[1])
