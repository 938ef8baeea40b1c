import java.util.HashMap;
import java.util.Map;
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
            try (Jedis jedis = pool.getResource()) {
                jedis.eval(RENEW, 1, key, value, String.valueOf(seconds));
            }
            Thread.sleep(seconds * 1000L);
        }
        return null;
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
