package dev.lockshift;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisPooled;

/** The two locks on the server that REDIS_URL names: {@code REDIS_URL=redis://127.0.0.1 mvn test}. */
final class LocksTest {
    private static final Duration LONG = Duration.ofMinutes(10);
    private static final Duration SHORT = Duration.ofSeconds(1);
    private static JedisPooled redis;

    private final String plain = "tests:java:" + UUID.randomUUID();
    private final String bridged = "tests:java:" + UUID.randomUUID();

    @BeforeAll
    static void connect() {
        redis = new JedisPooled(System.getenv("REDIS_URL"));
    }

    @AfterAll
    static void disconnect() {
        redis.close();
    }

    /** Both locks over a connection. */
    private Lock[] each(Connection connection, Duration lease) {
        return new Lock[] {
            new TokenLock(connection, plain, lease), new BridgeLock(connection, bridged, lease, "php-getset"),
        };
    }

    private Lock[] each() {
        return each(new JedisConnection(redis), LONG);
    }

    /** The key that holds the token of a lock. */
    private String tokenKey(Lock lock) {
        return lock instanceof BridgeLock ? BridgeLock.newKey(bridged) : plain;
    }

    @Test
    void a_held_lock_is_refused_until_its_release() throws Exception {
        for (Lock lock : each()) {
            Hold hold = lock.tryAcquire().get();
            assertFalse(lock.tryAcquire().isPresent());
            assertFalse(lock.acquire(Duration.ofMillis(50)).isPresent());
            assertEquals(Released.FREED, hold.release());
            assertEquals(Released.FREED, hold.release(), "a second call returns what the first has found");
            assertEquals(0, redis.exists(tokenKey(lock), lock.key));
        }
    }

    @Test
    void acquire_waits_for_the_release() throws Exception {
        for (Lock lock : each()) {
            Hold hold = lock.tryAcquire().get();
            CompletableFuture.runAsync(hold::release, CompletableFuture.delayedExecutor(100, TimeUnit.MILLISECONDS));
            assertEquals(Released.FREED, lock.acquire(Duration.ofMinutes(1)).get().release());
        }
    }

    @Test
    void close_releases_and_the_error_of_the_work_is_the_one_thrown() {
        for (Lock lock : each()) {
            try (Hold hold = lock.tryAcquire().get().keepAlive()) {
                assertFalse(hold.isLost());
                assertTrue(hold.remaining().compareTo(LONG.dividedBy(2)) > 0);
            }
            assertFalse(redis.exists(tokenKey(lock)));
            assertThrows(UnsupportedOperationException.class, () -> {
                try (Hold hold = lock.tryAcquire().get()) {
                    redis.set(tokenKey(lock), "another client's");
                    throw new UnsupportedOperationException("of the work");
                }
            });
            assertEquals("another client's", redis.get(tokenKey(lock)), "only what the hold has written is deleted");
        }
    }

    @Test
    void close_of_a_lost_lock_throws() {
        for (Lock lock : each()) {
            LostException lost = assertThrows(LostException.class, () -> {
                try (Hold hold = lock.tryAcquire().get()) {
                    redis.set(tokenKey(lock), "another client's");
                }
            });
            assertFalse(lost.intruded());
        }
    }

    @Test
    void an_overwritten_stamp_is_an_intrusion() {
        Lock lock = new BridgeLock(new JedisConnection(redis), bridged, LONG, "php-getset");
        LostException lost = assertThrows(LostException.class, () -> {
            try (Hold hold = lock.tryAcquire().get()) {
                redis.set(bridged, "1");
                assertTrue(assertThrows(LostException.class, hold::extend).intruded());
                assertTrue(hold.isLost());
            }
        });
        assertTrue(lost.intruded());
    }

    @Test
    void extend_renews_the_lease() {
        for (Lock lock : each()) {
            Hold hold = lock.tryAcquire().get();
            redis.pexpire(tokenKey(lock), 1000);
            hold.extend();
            assertTrue(redis.pttl(tokenKey(lock)) > LONG.toMillis() / 2);
        }
    }

    @Test
    void a_hold_tells_that_its_lease_has_ended_while_a_renewal_gets_no_reply() throws Exception {
        CountDownLatch asked = new CountDownLatch(1);
        CountDownLatch ends = new CountDownLatch(1);
        Connection stuck = new Stuck(new JedisConnection(redis), asked, ends);
        Hold hold = new TokenLock(stuck, plain, SHORT).tryAcquire().get().keepAlive();
        asked.await();
        CompletableFuture<Boolean> tells = CompletableFuture.supplyAsync(() -> {
            while (!hold.isLost()) {
                Thread.onSpinWait();
            }
            return true;
        });
        try {
            assertTrue(tells.get(30, TimeUnit.SECONDS));
        } finally {
            ends.countDown();
        }
    }

    /** A connection on which an extension is not answered until the test ends. */
    private static final class Stuck implements Connection {
        private final Connection inner;
        private final CountDownLatch asked;
        private final CountDownLatch ends;

        Stuck(Connection inner, CountDownLatch asked, CountDownLatch ends) {
            this.inner = inner;
            this.asked = asked;
            this.ends = ends;
        }

        @Override
        public Object eval(byte[] script, boolean returnsList, int keys, byte[]... words) {
            asked.countDown();
            try {
                ends.await();
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
            }
            return inner.eval(script, returnsList, keys, words);
        }

        @Override
        public boolean setIfMissing(byte[] key, byte[] value, long leaseMs) {
            return inner.setIfMissing(key, value, leaseMs);
        }

        @Override
        public byte[] get(byte[] key) {
            return inner.get(key);
        }
    }

    @Test
    void a_server_that_does_not_answer_leaves_the_outcome_unknown() throws Exception {
        try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"))) {
            HostAndPort address = new HostAndPort("127.0.0.1", silent.getLocalPort());
            DefaultJedisClientConfig impatient = DefaultJedisClientConfig.builder().timeoutMillis(100).build();
            try (JedisPooled client = new JedisPooled(address, impatient)) {
                for (Lock lock : each(new JedisConnection(client), SHORT)) {
                    assertThrows(OutcomeUnknownException.class, lock::tryAcquire);
                }
            }
        }
    }

    @Test
    void a_fleet_that_no_stamp_keeps_out_is_refused() {
        for (String[] dialects : new String[][] {{"no-such-dialect"}, {}}) {
            assertThrows(
                    NotBridgeableException.class,
                    () -> new BridgeLock(new JedisConnection(redis), bridged, LONG, dialects));
        }
    }

    @Test
    void the_new_key_is_in_the_slot_of_the_old_one() {
        assertEquals("{invoices}:token", BridgeLock.newKey("invoices"));
        assertEquals("job:{42}:token", BridgeLock.newKey("job:{42}"));
        assertEquals("{{a}:token", BridgeLock.newKey("{{a}"));
        // No hash tag is where the first braces have nothing in them, whatever follows.
        for (String key : new String[] {"", "job:{}:{42}", "a}b"}) {
            assertThrows(IllegalArgumentException.class, () -> BridgeLock.newKey(key));
        }
    }

    @Test
    void the_example_of_the_readme_runs(@TempDir Path folder) throws Exception {
        String readme = new String(Files.readAllBytes(Path.of(System.getProperty("readme", "README.md"))), "UTF-8");
        String example = readme.split("```java\n")[1].split("```")[0];
        String program = "import dev.lockshift.*;\nimport java.time.Duration;\nimport java.util.Optional;\n"
                + "import redis.clients.jedis.JedisPooled;\npublic class Example {\n"
                + "    public static int worked;\n    static void work() { worked++; }\n"
                + "    public static void run() throws Exception {\n" + example + "    }\n}\n";
        Path file = folder.resolve("Example.java");
        Files.write(file, program.getBytes("UTF-8"));
        String path = System.getProperty("java.class.path");
        assertEquals(0, ToolProvider.getSystemJavaCompiler()
                .run(null, null, null, "-cp", path, "-d", folder.toString(), file.toString()));
        try (java.net.URLClassLoader loader =
                new java.net.URLClassLoader(new java.net.URL[] {folder.toUri().toURL()}, LocksTest.class.getClassLoader())) {
            Class<?> compiled = loader.loadClass("Example");
            compiled.getMethod("run").invoke(null);
            assertEquals(1, compiled.getField("worked").getInt(null));
        }
    }
}
