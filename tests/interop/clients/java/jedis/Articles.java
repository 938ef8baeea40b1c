import java.util.HashMap;
import java.util.Map;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPool;

/** Jedis with the locks of the articles. */
final class Articles implements Locks {
    private final int port;
    private final JedisPool pool;
    private final Map<String, ArticleLock> held = new HashMap<>();

    private Articles(int port) {
        this.port = port;
        pool = new JedisPool("127.0.0.1", port);
    }

    @Override
    public boolean acquire(String dialect, String key, long leaseMs) {
        ArticleLock lock = lockOf(dialect, key, leaseMs);
        boolean won = lock.tryLock();
        if (won) {
            held.put(key, lock);
        }
        return won;
    }

    private ArticleLock lockOf(String dialect, String key, long leaseMs) {
        int seconds = (int) (leaseMs / 1000);
        switch (dialect.split(",")[0]) {
            case "redis-distributed-lock":
                return RedisDistributedLock.once(pool, key, seconds);
            case "reentrant":
                return new ReentrantHash(pool, key, seconds);
            case "rw-pair":
            case "rw-stamps":
                return new ReadWriteLock(pool, dialect, key, leaseMs);
            default:
                return new NaiveLock(pool, dialect, key, seconds);
        }
    }

    @Override
    public boolean release(String key) {
        return held.remove(key).unlock();
    }

    @Override
    public Boolean extend(String key, long leaseMs) {
        return held.get(key).renew();
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
                return new Articles(port);
            }

            @Override
            public String version() {
                return "jedis " + Interop.versionOf(Jedis.class);
            }
        });
    }
}
