# Two users of locks with one client of redis-rb, in threads: see `run`.

require 'redis'

client = Redis.new(port: ARGV[1].to_i)
client.setnx('lock:a', 1)
client.setnx('lock:b', 1)
waiting = Thread.new { client.blpop('queue', timeout: 1) }
sleep 0.3
client.del('lock:a')
waiting.join
client.del('lock:b')
