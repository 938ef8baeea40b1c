import dev.lockshift.BridgeLock;
import dev.lockshift.Connection;
import dev.lockshift.Hold;
import dev.lockshift.JedisConnection;
import dev.lockshift.LettuceConnection;
import dev.lockshift.Lock;
import dev.lockshift.LostException;
import dev.lockshift.Probe;
import dev.lockshift.Released;
import dev.lockshift.SpringConnection;
import dev.lockshift.TokenLock;
import io.lettuce.core.RedisClient;
import io.lettuce.core.codec.ByteArrayCodec;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPooled;

/** This project's package, from its source, over the client that the first argument names. */
final class Package implements Locks {
    private final int port;
    private final Connection redis;
    private final Map<String, Hold> held = new HashMap<>();

    private Package(int port, Connection redis) {
        this.port = port;
        this.redis = redis;
    }

    @Override
    public boolean acquire(String dialect, String key, long leaseMs) {
        return keep(key, lockOf(dialect, key, leaseMs).tryAcquire());
    }

    @Override
    public boolean lock(String dialect, String key, long leaseMs, long patienceMs) throws InterruptedException {
        return keep(key, lockOf(dialect, key, leaseMs).acquire(Duration.ofMillis(patienceMs)));
    }

    private boolean keep(String key, Optional<Hold> hold) {
        hold.ifPresent(won -> held.put(key, won));
        return hold.isPresent();
    }

    private Lock lockOf(String dialect, String key, long leaseMs) {
        Duration lease = Duration.ofMillis(leaseMs);
        return dialect.equals("token")
                ? new TokenLock(redis, key, lease)
                : new BridgeLock(redis, key, lease, dialect.substring("bridge:".length()).split("\\+"));
    }

    /** The scoped form: the work lasts until the lock is lost or a key exists. */
    private String hold(String dialect, String key, long leaseMs, String until) throws InterruptedException {
        Lock lock = lockOf(dialect, key, leaseMs);
        try (Jedis other = new Jedis("127.0.0.1", port);
                Hold hold = lock.acquire(Duration.ofMinutes(1)).get().keepAlive()) {
            while (!hold.isLost() && !other.exists(until)) {
                Thread.sleep(20);
            }
        } catch (LostException lost) {
            return lost.intruded() ? "intruded" : "lost";
        }
        return "done";
    }

    @Override
    public boolean release(String key) {
        return held.remove(key).release() == Released.FREED;
    }

    @Override
    public Boolean extend(String key, long leaseMs) {
        try {
            held.get(key).extend();
            return true;
        } catch (LostException lost) {
            return false;
        }
    }

    @Override
    public String other(String verb, String[] args) throws Exception {
        if (verb.equals("hold")) {
            return hold(args[0], args[1], Long.parseLong(args[2]), args[3]);
        }
        return Probe.answer(verb, args);
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
    public void close() {}

    public static void main(String[] args) throws Exception {
        String client = args[0];
        int port = Integer.parseInt(args[1]);
        Connection redis = connection(client, port);
        Interop.serve(new Library() {
            @Override
            public Locks open() {
                return new Package(port, redis);
            }

            @Override
            public String version() {
                return "lockshift on " + client;
            }
        });
    }

    private static Connection connection(String client, int port) {
        switch (client) {
            case "jedis":
                return new JedisConnection(new JedisPooled("127.0.0.1", port));
            case "lettuce":
                return new LettuceConnection(RedisClient.create("redis://127.0.0.1:" + port).connect(ByteArrayCodec.INSTANCE));
            case "spring":
                LettuceConnectionFactory factory = new LettuceConnectionFactory("127.0.0.1", port);
                factory.afterPropertiesSet();
                factory.start();
                return new SpringConnection(factory);
        }
        throw new IllegalArgumentException("no such client: " + client);
    }
}
