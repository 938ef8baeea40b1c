-- KEYS by twos: lock, and what the keys of its readers' leases begin with;
-- ARGV[1] lease in ms, then for each lock the number of readers and their names.
-- Lets every lease of those readers live that long from now, and a lock in which one of them still is. Answers 1 or 0 for
-- each lock.
local renewed = {}
local next = 2
for place = 1, #KEYS, 2 do
  local alive = 0
  for _ = 1, tonumber(ARGV[next]) do
    next = next + 1
    local reader = ARGV[next]
    local count = redis.call('hget', KEYS[place], reader)
    if count then
      alive = 1
      -- Nobody enters that often: a count that is none must not keep the server busy.
      for entry = math.min(tonumber(count) or 0, 10000), 1, -1 do
        redis.call('pexpire', KEYS[place + 1] .. ':' .. reader .. ':rwlock_timeout:' .. entry, ARGV[1])
      end
    end
  end
  next = next + 1
  if alive == 1 then
    redis.call('pexpire', KEYS[place], ARGV[1])
  end
  table.insert(renewed, alive)
end
return renewed
