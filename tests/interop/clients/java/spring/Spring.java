import java.util.HashMap;
import java.util.Map;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;

/** Spring Data Redis with the locks of the Java article. */
final class Spring implements Locks {
    private final LettuceConnectionFactory factory;
    private final StringRedisTemplate template;
    /** How each key that is held is released. */
    private final Map<String, Runnable> held = new HashMap<>();

    private Spring(int port) {
        factory = new LettuceConnectionFactory(new RedisStandaloneConfiguration("127.0.0.1", port));
        factory.afterPropertiesSet();
        factory.start();
        template = new StringRedisTemplate(factory);
    }

    @Override
    public boolean acquire(String dialect, String key, long leaseMs) {
        int lockSeconds = (int) (leaseMs / 1000);
        switch (dialect) {
            case "java-getset": {
                GetsetLock lock = new GetsetLock(template, key);
                return keep(key, lock.tryLock(lockSeconds), lock::unlock);
            }
            case "java-lua": {
                LuaLock lock = new LuaLock(template, key);
                return keep(key, lock.tryLock(lockSeconds), lock::unlock);
            }
            case "java-token": {
                TokenLock lock = new TokenLock(template, key);
                return keep(key, lock.tryLock(lockSeconds), lock::unlock);
            }
            default:
                throw new IllegalArgumentException("no such dialect: " + dialect);
        }
    }

    private boolean keep(String key, boolean won, Runnable unlock) {
        if (won) {
            held.put(key, unlock);
        }
        return won;
    }

    @Override
    public boolean release(String key) {
        held.remove(key).run();
        return true;
    }

    @Override
    public Counter counter() {
        LettuceClientConfiguration configuration = LettuceClientConfiguration.defaultConfiguration();
        LettuceConnectionFactory own = new LettuceConnectionFactory(factory.getStandaloneConfiguration(), configuration);
        own.afterPropertiesSet();
        own.start();
        RedisConnection connection = own.getConnection();
        return new Counter() {
            @Override
            public long add(String key, long by) {
                return connection.stringCommands().incrBy(key.getBytes(), by);
            }

            @Override
            public void close() {
                connection.close();
                own.destroy();
            }
        };
    }

    @Override
    public void close() {
        factory.destroy();
    }

    public static void main(String[] args) throws Exception {
        int port = Integer.parseInt(args[0]);
        Interop.serve(new Library() {
            @Override
            public Locks open() {
                return new Spring(port);
            }

            @Override
            public String version() {
                return "spring-data-redis " + Interop.versionOf(StringRedisTemplate.class);
            }
        });
    }
}
