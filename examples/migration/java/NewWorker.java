import dev.lockshift.BridgeLock;
import dev.lockshift.Connection;
import dev.lockshift.Hold;
import dev.lockshift.JedisConnection;
import dev.lockshift.Lock;
import dev.lockshift.Released;
import dev.lockshift.TokenLock;
import java.time.Duration;
import java.util.Optional;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisPooled;

/** A worker with the bridge or the token lock of `clients/java`, on a Jedis of today. */
final class NewWorker {
    public static void main(String[] arguments) throws InterruptedException {
        HostAndPort address = new HostAndPort(arguments[0], Integer.parseInt(arguments[1]));
        DefaultJedisClientConfig config = DefaultJedisClientConfig.builder().timeoutMillis(Worker.TIMEOUT_MS).build();
        Connection redis = new JedisConnection(new JedisPooled(address, config));
        Lock lock = lockOf(arguments[2], redis, arguments[3], Duration.ofMillis(Long.parseLong(arguments[4])));
        new Worker(arguments).work(new Worker.JobLock() {
            private Optional<Hold> hold;

            @Override
            public boolean acquire() {
                hold = lock.tryAcquire();
                return hold.isPresent();
            }

            @Override
            public boolean release() {
                return hold.get().release() == Released.INTRUDED;
            }
        });
    }

    private static Lock lockOf(String role, Connection redis, String key, Duration lease) {
        switch (role) {
            case "bridge":
                return new BridgeLock(redis, key, lease, "jedis-lock");
            case "modern":
                return new TokenLock(redis, BridgeLock.newKey(key), lease);
        }
        throw new IllegalArgumentException("no such role: " + role);
    }
}
