import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPool;
import redis.clients.jedis.params.SetParams;

/** The class of the Jedis article, written anew from its description: a count per thread, one flag for all renewals. */
final class RedisDistributedLock {
    private static final String RENEW =
            "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('expire',KEYS[1],ARGV[2]) else return 0 end";
    private static final String UNLOCK =
            "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end";
    private static final int RENEWALS_MOST = 4;
    private static final ExecutorService RENEWALS = new ScheduledThreadPoolExecutor(10, task -> {
        Thread thread = new Thread(task);
        thread.setDaemon(true);
        return thread;
    });

    private final JedisPool pool;
    private final ThreadLocal<Map<String, Integer>> counts = ThreadLocal.withInitial(HashMap::new);
    private volatile boolean renews;

    RedisDistributedLock(JedisPool pool) {
        this.pool = pool;
    }

    /** One acquisition, by an instance of its own: the second of one would enter again without asking Redis. */
    static ArticleLock once(JedisPool pool, String key, int seconds) {
        RedisDistributedLock locker = new RedisDistributedLock(pool);
        String value = UUID.randomUUID().toString();
        return new ArticleLock() {
            @Override
            public boolean tryLock() {
                return locker.lock(key, value, seconds, false);
            }

            @Override
            public boolean unlock() {
                return locker.unlock(key, value);
            }

            @Override
            public Boolean renew() {
                return locker.renewOnce(key, value, seconds);
            }
        };
    }

    synchronized boolean lock(String key, String value, int seconds, boolean persistent) {
        Integer count = counts.get().get(key);
        if (count != null) {
            counts.get().put(key, count + 1);
            return true;
        }
        if (!set(key, value, seconds)) {
            return false;
        }
        counts.get().put(key, 1);
        if (persistent) {
            renews = true;
            RENEWALS.submit(() -> renew(key, value, seconds));
        }
        return true;
    }

    private boolean set(String key, String value, int seconds) {
        try (Jedis jedis = pool.getResource()) {
            return "OK".equalsIgnoreCase(jedis.set(key, value, SetParams.setParams().ex(seconds).nx()));
        } catch (Exception logged) {
            return false;
        }
    }

    private Void renew(String key, String value, int seconds) throws InterruptedException {
        for (int done = 0; done < RENEWALS_MOST && renews; done++) {
            renewOnce(key, value, seconds);
            Thread.sleep(seconds * 1000L);
        }
        return null;
    }

    private boolean renewOnce(String key, String value, int seconds) {
        try (Jedis jedis = pool.getResource()) {
            return Long.valueOf(1).equals(jedis.eval(RENEW, 1, key, value, String.valueOf(seconds)));
        }
    }

    synchronized boolean unlock(String key, String value) {
        Integer count = counts.get().get(key);
        if (count == null) {
            return false;
        }
        if (count > 1) {
            counts.get().put(key, count - 1);
            return true;
        }
        counts.get().remove(key);
        renews = false;
        try (Jedis jedis = pool.getResource()) {
            jedis.eval(UNLOCK, 1, key, value);
        } catch (Exception logged) {
            // The article logs it and goes on.
        }
        return true;
    }
}
