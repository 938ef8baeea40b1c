import java.nio.ByteBuffer;
import java.util.Arrays;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.StringRedisTemplate;

/** The improved lock of the Java article, written anew from its description: a long of milliseconds as eight bytes. */
final class GetsetLock {
    private static final long TOLERANCE_MS = 1000;

    private final StringRedisTemplate template;
    private final byte[] key;

    GetsetLock(StringRedisTemplate template, String key) {
        this.template = template;
        this.key = key.getBytes();
    }

    boolean tryLock(int lockSeconds) {
        return template.execute((RedisCallback<Boolean>) connection -> {
            try {
                return tryLock(connection, lockSeconds);
            } catch (Exception logged) {
                return false;
            }
        });
    }

    @SuppressWarnings("deprecation") // as the article calls them
    private boolean tryLock(RedisConnection connection, int lockSeconds) {
        long now = System.currentTimeMillis();
        long until = now + lockSeconds * 1000 + TOLERANCE_MS;
        if (connection.setNX(key, bytes(until))) {
            connection.expire(key, lockSeconds);
            return true;
        }
        byte[] seen = connection.get(key);
        if (seen == null || number(seen) >= now) {
            return false;
        }
        byte[] old = connection.getSet(key, bytes(until));
        if (!Arrays.equals(seen, old)) {
            return false;
        }
        connection.expire(key, lockSeconds);
        return true;
    }

    void unlock() {
        template.delete(new String(key));
    }

    private static byte[] bytes(long number) {
        return ByteBuffer.allocate(Long.BYTES).putLong(number).array();
    }

    private static long number(byte[] bytes) {
        if (bytes.length != Long.BYTES) {
            throw new IllegalArgumentException("wrong length of bytes!");
        }
        return ByteBuffer.wrap(bytes).getLong();
    }
}
