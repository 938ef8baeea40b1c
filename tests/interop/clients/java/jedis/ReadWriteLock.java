import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPool;

/** The two locks of "Redis distributed read/write lock": a pair of keys on a single instance, a hash in a cluster. */
final class ReadWriteLock implements ArticleLock {
    private static final String READ_PAIR =
            "local readKey, writeKey, timeout = KEYS[1], KEYS[2], ARGV[1] "
                    + "local wExist = redis.call('EXISTS', writeKey) "
                    + "if wExist == 1 then return 0 else redis.call('SET', readKey, '1', 'EX', timeout) end return 1";
    private static final String WRITE_PAIR =
            "local readKey, writeKey, timeout, result = KEYS[1], KEYS[2], ARGV[1] "
                    + "local rExist = redis.call('EXISTS', readKey) "
                    + "if rExist == 1 then return 0 else "
                    + "result = redis.call('SET', writeKey, '1', 'EX', timeout, 'NX') "
                    + "if result then return 1 else return 0 end end";
    private static final String ARGUMENTS =
            "local lockKey, timeout, readExpTime, writeExpTime, now = "
                    + "KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]) ";
    private static final String READ_HASH = ARGUMENTS
            + "local writeValue = redis.call('HGET', lockKey, 'write') local canGet = false "
            + "if writeValue then canGet = ((now - tonumber(writeValue)) > writeExpTime) else canGet = true end "
            + "if canGet then redis.call('HSET', lockKey, 'read', now) redis.call('PEXPIRE', lockKey, timeout) return 1 "
            + "else return 0 end";
    private static final String WRITE_HASH = ARGUMENTS
            + "local writeValue = redis.call('HGET', lockKey, 'write') local writeValid = false "
            + "if writeValue then writeValid = ((now - tonumber(writeValue)) > writeExpTime) else writeValid = true end "
            + "local readValue = redis.call('HGET', lockKey, 'read') local readValid = false "
            + "if readValue then readValid = ((now - tonumber(readValue)) > readExpTime) else readValid = true end "
            + "if writeValid and readValid then redis.call('HSET', lockKey, 'write', now) "
            + "redis.call('PEXPIRE', lockKey, timeout) return 1 else return 0 end";
    /** The key outlives both leases, in the article 10 seconds against 1 and 3. */
    private static final long KEY_OUTLIVES_MS = 7000;

    private final JedisPool pool;
    private final boolean isHash;
    private final boolean isReader;
    private final String key;
    private final long leaseMs;
    private String stamp;

    ReadWriteLock(JedisPool pool, String dialect, String key, long leaseMs) {
        this.pool = pool;
        isHash = dialect.startsWith("rw-stamps");
        isReader = dialect.endsWith(",side=reader");
        this.key = key;
        this.leaseMs = leaseMs;
    }

    private List<String> pair() {
        return Arrays.asList(key, "{" + key + "}:writer");
    }

    private String field() {
        return isReader ? "read" : "write";
    }

    @Override
    public boolean tryLock() {
        try (Jedis jedis = pool.getResource()) {
            if (!isHash) {
                List<String> args = Collections.singletonList(String.valueOf(leaseMs / 1000));
                return Long.valueOf(1).equals(jedis.eval(isReader ? READ_PAIR : WRITE_PAIR, pair(), args));
            }
            stamp = String.valueOf(System.currentTimeMillis());
            List<String> args = new ArrayList<>();
            args.add(String.valueOf(leaseMs + KEY_OUTLIVES_MS));
            args.add(String.valueOf(leaseMs));
            args.add(String.valueOf(leaseMs));
            args.add(stamp);
            String script = isReader ? READ_HASH : WRITE_HASH;
            return Long.valueOf(1).equals(jedis.eval(script, Collections.singletonList(key), args));
        }
    }

    /** The article's scripts answer nothing. */
    @Override
    public boolean unlock() {
        try (Jedis jedis = pool.getResource()) {
            if (!isHash) {
                return jedis.del(pair().get(isReader ? 0 : 1)) == 1;
            }
            String script = "local lockKey, time = KEYS[1], ARGV[1] "
                    + "local value = redis.call('HGET', lockKey, '" + field() + "') "
                    + "if time == value then redis.call('HDEL', lockKey, '" + field() + "') end";
            jedis.eval(script, Collections.singletonList(key), Collections.singletonList(stamp));
            return true;
        }
    }
}
