-- A holder goes out, before it releases.
-- KEYS[1]  the witness of one run: a hash of `inside` and `latest`
-- Answers when the latest of all winning tries began whose holders have gone in until now.
redis.call('HINCRBY', KEYS[1], 'inside', -1)
return tonumber(redis.call('HGET', KEYS[1], 'latest') or '0')
