import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPool;

/** Jedis with the class of the Jedis article. */
final class JedisArticle implements Locks {
    private final int port;
    private final JedisPool pool;
    private final Map<String, Held> held = new HashMap<>();

    private static final class Held {
        final RedisDistributedLock locker;
        final String value;

        Held(RedisDistributedLock locker, String value) {
            this.locker = locker;
            this.value = value;
        }
    }

    private JedisArticle(int port) {
        this.port = port;
        pool = new JedisPool("127.0.0.1", port);
    }

    @Override
    public boolean acquire(String dialect, String key, long leaseMs) {
        // One for each lock: the second of one would enter again without asking Redis.
        RedisDistributedLock locker = new RedisDistributedLock(pool);
        String value = UUID.randomUUID().toString();
        boolean won = locker.lock(key, value, (int) (leaseMs / 1000), false);
        if (won) {
            held.put(key, new Held(locker, value));
        }
        return won;
    }

    @Override
    public boolean release(String key) {
        Held lock = held.remove(key);
        return lock.locker.unlock(key, lock.value);
    }

    @Override
    public Counter counter() {
        Jedis connection = new Jedis("127.0.0.1", port);
        return new Counter() {
            @Override
            public long add(String key, long by) {
                return connection.incrBy(key, by);
            }

            @Override
            public void close() {
                connection.close();
            }
        };
    }

    @Override
    public void close() {
        pool.close();
    }

    public static void main(String[] args) throws Exception {
        int port = Integer.parseInt(args[0]);
        Interop.serve(new Library() {
            @Override
            public Locks open() {
                return new JedisArticle(port);
            }

            @Override
            public String version() {
                return "jedis " + Interop.versionOf(Jedis.class);
            }
        });
    }
}
