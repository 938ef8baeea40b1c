import com.github.jedis.lock.JedisLock;
import java.util.HashMap;
import java.util.Map;
import redis.clients.jedis.Jedis;

/** The published jedis-lock, on the Jedis that it was built for. */
final class PublishedJedisLock implements Locks {
    private final int port;
    private final Jedis jedis;
    private final Map<String, JedisLock> held = new HashMap<>();

    private PublishedJedisLock(int port) {
        this.port = port;
        jedis = new Jedis("127.0.0.1", port);
    }

    /** After a try that was refused the package sleeps; a thread that is interrupted already does not. */
    @Override
    public boolean acquire(String dialect, String key, long leaseMs) {
        JedisLock lock = new JedisLock(jedis, key, 0, (int) leaseMs);
        boolean won;
        Thread.currentThread().interrupt();
        try {
            won = lock.acquire();
        } catch (InterruptedException refused) {
            won = false;
        } finally {
            Thread.interrupted();
        }
        if (won) {
            held.put(key, lock);
        }
        return won;
    }

    @Override
    public boolean release(String key) {
        held.remove(key).release();
        return true;
    }

    @Override
    public Counter counter() {
        Jedis connection = new Jedis("127.0.0.1", port);
        return new Counter() {
            @Override
            public long add(String key, long by) {
                return by < 0 ? connection.decrBy(key, (int) -by) : connection.incrBy(key, (int) by);
            }

            @Override
            public void close() {
                connection.disconnect();
            }
        };
    }

    @Override
    public void close() {
        jedis.disconnect();
    }

    public static void main(String[] args) throws Exception {
        int port = Integer.parseInt(args[0]);
        Interop.serve(new Library() {
            @Override
            public Locks open() {
                return new PublishedJedisLock(port);
            }

            @Override
            public String version() {
                return "jedis-lock " + Interop.versionOf(JedisLock.class);
            }
        });
    }
}
