import java.util.Collections;
import java.util.List;
import java.util.UUID;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.DefaultRedisScript;
import org.springframework.data.redis.core.script.RedisScript;

/** The addition to the Java article, written anew from its description: a value of one's own, compared on release. */
final class TokenLock {
    private static final RedisScript<Boolean> DEL_IF_GET_EQUALS = new DefaultRedisScript<>(
            "if (redis.call('get', KEYS[1]) == ARGV[1]) then\n"
                    + "\tredis.call('del', KEYS[1])\n"
                    + "\treturn true\n"
                    + "else\n"
                    + "\treturn false\n"
                    + "end",
            Boolean.class);

    private final StringRedisTemplate template;
    private final List<String> keys;
    private final String value = UUID.randomUUID() + "." + System.currentTimeMillis();
    private boolean locked;

    TokenLock(StringRedisTemplate template, String key) {
        this.template = template;
        this.keys = Collections.singletonList(key);
    }

    boolean tryLock(int lockSeconds) {
        if (locked) {
            throw new IllegalStateException("already locked!");
        }
        locked = template.execute(LuaLock.SETNX_AND_EXPIRE, keys, value, String.valueOf(lockSeconds));
        return locked;
    }

    void unlock() {
        if (!locked) {
            throw new IllegalStateException("not locked yet!");
        }
        locked = false;
        template.execute(DEL_IF_GET_EQUALS, keys, value);
    }
}
