-- Removes a holder, before it releases.
-- KEYS[1]  the witness of one run, a hash with the fields `inside` and `latest`
-- Returns when the latest winning attempt began, of all holders that have entered so far.
redis.call('HINCRBY', KEYS[1], 'inside', -1)
return tonumber(redis.call('HGET', KEYS[1], 'latest') or '0')
