-- KEYS[1] lock; ARGV[1] the stamp that was written, ARGV[2] the one to write, ARGV[3] its time to live in ms, or '' for none,
-- ARGV[4] '1' if the first was written with a time to live. Replaces the stamp if the lock is as it was written. 1 extended,
-- 0 not ours.
if redis.pcall('get', KEYS[1]) ~= ARGV[1] then
  return 0
end
if ARGV[3] == '' then
  redis.call('set', KEYS[1], ARGV[2])
  return 1
end
if ARGV[4] == '1' and redis.call('pttl', KEYS[1]) < 0 then
  return 0
end
redis.call('set', KEYS[1], ARGV[2], 'px', ARGV[3])
return 1
