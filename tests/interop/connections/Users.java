import io.lettuce.core.RedisClient;
import io.lettuce.core.api.sync.RedisCommands;
import java.time.Duration;
import java.util.function.Consumer;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;
import redis.clients.jedis.JedisPooled;

/** Two users of locks with one client, as each library makes it: see `run`. */
final class Users {
    private record Client(Consumer<String> setnx, Consumer<String> del, Runnable await, Runnable end) {}

    public static void main(String[] args) throws InterruptedException {
        Client client = client(args[0], Integer.parseInt(args[1]));
        client.setnx().accept("lock:a");
        client.setnx().accept("lock:b");
        Thread waiting = new Thread(client.await());
        waiting.start();
        Thread.sleep(300);
        client.del().accept("lock:a");
        waiting.join();
        client.del().accept("lock:b");
        client.end().run();
        System.exit(0);
    }

    private static Client client(String name, int port) {
        switch (name) {
            case "jedis":
                JedisPooled jedis = new JedisPooled("127.0.0.1", port);
                return new Client(
                        key -> jedis.setnx(key, "1"), jedis::del, () -> jedis.blpop(1, "queue"), jedis::close);
            case "lettuce":
                RedisClient lettuce = RedisClient.create("redis://127.0.0.1:" + port);
                RedisCommands<String, String> sync = lettuce.connect().sync();
                return new Client(
                        key -> sync.setnx(key, "1"), sync::del, () -> sync.blpop(1, "queue"), lettuce::shutdown);
            case "spring":
                LettuceConnectionFactory factory = new LettuceConnectionFactory("127.0.0.1", port);
                factory.afterPropertiesSet();
                factory.start();
                StringRedisTemplate template = new StringRedisTemplate(factory);
                return new Client(
                        key -> template.opsForValue().setIfAbsent(key, "1"),
                        template::delete,
                        () -> template.opsForList().leftPop("queue", Duration.ofSeconds(1)),
                        factory::destroy);
            default:
                throw new IllegalArgumentException(name);
        }
    }
}
