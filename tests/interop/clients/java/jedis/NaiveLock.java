import java.util.UUID;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPool;
import redis.clients.jedis.Protocol;

/** The ancestors that the Java and the Jedis article begin with: each step repairs the one before it. */
final class NaiveLock implements ArticleLock {
    private final JedisPool pool;
    private final String dialect;
    private final String key;
    private final String seconds;
    private final String own = UUID.randomUUID().toString();

    NaiveLock(JedisPool pool, String dialect, String key, int seconds) {
        this.pool = pool;
        this.dialect = dialect;
        this.key = key;
        this.seconds = String.valueOf(seconds);
    }

    @Override
    public boolean tryLock() {
        try (Jedis jedis = pool.getResource()) {
            switch (dialect) {
                case "naive-exists-set":
                    return !jedis.exists(key) && "OK".equals(jedis.set(key, "1"));
                case "naive-setnx":
                    return jedis.setnx(key, "1") == 1;
                case "java-setnx-expire":
                    if (jedis.setnx(key, "1") != 1) {
                        return false;
                    }
                    jedis.expire(key, Long.parseLong(seconds));
                    return true;
                case "naive-set-ex-nx":
                    return setExNx(jedis, "1");
                case "naive-check-del":
                    return setExNx(jedis, own);
                default:
                    throw new IllegalArgumentException("no such dialect: " + dialect);
            }
        }
    }

    /** With the words in the article's order, which Jedis would turn round. */
    private boolean setExNx(Jedis jedis, String value) {
        return jedis.sendCommand(Protocol.Command.SET, key, value, "EX", seconds, "NX") != null;
    }

    @Override
    public boolean unlock() {
        try (Jedis jedis = pool.getResource()) {
            boolean checks = dialect.equals("naive-check-del");
            return (!checks || own.equals(jedis.get(key))) && jedis.del(key) == 1;
        }
    }
}
