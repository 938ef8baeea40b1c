-- Enters a holder.
-- KEYS[1]  the witness of one run, a hash with the fields `inside` and `latest`
-- ARGV[1]  when the holder's winning attempt began, in microseconds of the run's clock
-- ARGV[2]  how long the witness outlives a run that crashes, in milliseconds
-- Returns the number of holders inside, this one included.
local inside = redis.call('HINCRBY', KEYS[1], 'inside', 1)
local latest = redis.call('HGET', KEYS[1], 'latest')
if not latest or tonumber(latest) < tonumber(ARGV[1]) then
  redis.call('HSET', KEYS[1], 'latest', ARGV[1])
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return inside
