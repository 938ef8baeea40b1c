-- Extends the lease keys of these readers, and each lock in which one of them holds.
-- KEYS pairs of lock and prefix of its lease keys; ARGV[1] lease in ms, from now, then for each lock the number of
-- readers and their names.
-- Returns 1 or 0 for each lock.
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
      -- No owner enters that often: an invalid count must not keep the server busy.
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
