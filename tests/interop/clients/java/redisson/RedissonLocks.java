import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Redisson: all sessions share one instance and differ by their threads, as in a program of its users. */
final class RedissonLocks implements Locks {
    private final RedissonClient redisson;
    private final Map<String, RLock> held = new HashMap<>();

    private RedissonLocks(RedissonClient redisson) {
        this.redisson = redisson;
    }

    private RLock lockOf(String dialect, String key) {
        switch (dialect) {
            case "redisson":
                return redisson.getLock(key);
            case "redisson,kind=fenced":
                return redisson.getFencedLock(key);
            case "redisson,kind=fair":
                return redisson.getFairLock(key);
            case "redisson-rw,side=reader":
                return redisson.getReadWriteLock(key).readLock();
            case "redisson-rw":
                return redisson.getReadWriteLock(key).writeLock();
            default:
                throw new IllegalArgumentException("no such dialect: " + dialect);
        }
    }

    @Override
    public boolean acquire(String dialect, String key, long leaseMs) throws Exception {
        return lock(dialect, key, leaseMs, 0);
    }

    @Override
    public boolean lock(String dialect, String key, long leaseMs, long patienceMs) throws Exception {
        RLock lock = lockOf(dialect, key);
        boolean won = lock.tryLock(patienceMs, leaseMs, TimeUnit.MILLISECONDS);
        if (won) {
            held.put(key, lock);
        }
        return won;
    }

    @Override
    public boolean release(String key) {
        held.remove(key).unlock();
        return true;
    }

    @Override
    public Counter counter() {
        return new Counter() {
            @Override
            public long add(String key, long by) {
                return redisson.getAtomicLong(key).addAndGet(by);
            }

            @Override
            public void close() {
            }
        };
    }

    @Override
    public void close() {
    }

    public static void main(String[] args) throws Exception {
        Config config = new Config();
        config.useSingleServer()
                .setAddress("redis://127.0.0.1:" + args[0])
                .setConnectionMinimumIdleSize(2)
                .setConnectionPoolSize(16);
        RedissonClient redisson = Redisson.create(config);
        Interop.serve(new Library() {
            @Override
            public Locks open() {
                return new RedissonLocks(redisson);
            }

            @Override
            public String version() {
                return "redisson " + Interop.versionOf(Redisson.class);
            }
        });
    }
}
