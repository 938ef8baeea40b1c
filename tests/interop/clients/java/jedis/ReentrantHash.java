import java.util.UUID;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPool;

/**
 * The re-entrant lock of "Distributed lock by Redis" and its automatic renewal 1.0: a hash with a count for its owner. The
 * article calls the owner `thread-1`, which is the same in every process; here a name of the process stands before it.
 */
final class ReentrantHash implements ArticleLock {
    private static final String PROCESS = UUID.randomUUID().toString();
    private static final String LOCK =
            "if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[1]) == 1 then "
                    + "redis.call('hincrby', KEYS[1], ARGV[1], 1) redis.call('expire', KEYS[1], ARGV[2]) return 1 "
                    + "else return 0 end";
    private static final String UNLOCK =
            "if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return nil "
                    + "elseif redis.call('hincrby', KEYS[1], ARGV[1], -1) == 0 then redis.call('del', KEYS[1]) return 1 "
                    + "else return 0 end";
    private static final String RENEW =
            "if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then return redis.call('expire', KEYS[1], ARGV[2]) "
                    + "else return 0 end";

    private final JedisPool pool;
    private final String key;
    private final String seconds;
    private final String owner = PROCESS + ":" + Thread.currentThread().getId();

    ReentrantHash(JedisPool pool, String key, int seconds) {
        this.pool = pool;
        this.key = key;
        this.seconds = String.valueOf(seconds);
    }

    @Override
    public boolean tryLock() {
        return Long.valueOf(1).equals(eval(LOCK, owner, seconds));
    }

    @Override
    public boolean unlock() {
        return Long.valueOf(1).equals(eval(UNLOCK, owner));
    }

    @Override
    public Boolean renew() {
        return Long.valueOf(1).equals(eval(RENEW, owner, seconds));
    }

    private Object eval(String script, String... args) {
        try (Jedis jedis = pool.getResource()) {
            return jedis.eval(script, java.util.Collections.singletonList(key), java.util.Arrays.asList(args));
        }
    }
}
