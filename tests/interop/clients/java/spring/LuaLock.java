import java.util.Collections;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.DefaultRedisScript;
import org.springframework.data.redis.core.script.RedisScript;

/** The optimised lock of the Java article, written anew from its description: SETNX and EXPIRE in one script. */
final class LuaLock {
    static final RedisScript<Boolean> SETNX_AND_EXPIRE = new DefaultRedisScript<>(
            "if (redis.call('setnx', KEYS[1], ARGV[1]) == 1) then\n"
                    + "\tredis.call('expire', KEYS[1], tonumber(ARGV[2]))\n"
                    + "\treturn true\n"
                    + "else\n"
                    + "\treturn false\n"
                    + "end",
            Boolean.class);

    private final StringRedisTemplate template;
    private final String key;

    LuaLock(StringRedisTemplate template, String key) {
        this.template = template;
        this.key = key;
    }

    boolean tryLock(int lockSeconds) {
        return template.execute(SETNX_AND_EXPIRE, Collections.singletonList(key), "1", String.valueOf(lockSeconds));
    }

    void unlock() {
        template.delete(key);
    }
}
