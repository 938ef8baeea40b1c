import com.github.jedis.lock.JedisLock;
import redis.clients.jedis.Jedis;

/** A worker with the old lock: the published jedis-lock, on the Jedis that it was built for. */
final class OldWorker {
    public static void main(String[] arguments) throws InterruptedException {
        Jedis jedis = new Jedis(arguments[0], Integer.parseInt(arguments[1]), Worker.TIMEOUT_MS);
        // Without a timeout it tries once, and sleeps for 100 ms after a refusal.
        JedisLock lock = new JedisLock(jedis, arguments[3], 0, Integer.parseInt(arguments[4]));
        new Worker(arguments).work(new Worker.JobLock() {
            @Override
            public boolean acquire() throws InterruptedException {
                try {
                    return lock.acquire();
                } catch (NumberFormatException notAStamp) {
                    // A client of another lock holds this key: jedis-lock fails on its token.
                    return false;
                }
            }

            @Override
            public boolean release() {
                lock.release();
                return false;
            }
        });
    }
}
