package dev.lockshift;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.codec.ByteArrayCodec;
import java.io.File;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.context.Lifecycle;
import org.springframework.dao.InvalidDataAccessApiUsageException;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisPooled;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;

/** The two locks on the server that REDIS_URL names: {@code REDIS_URL=redis://127.0.0.1 mvn test}. */
final class LocksTest {
    private static final Duration LONG = Duration.ofMinutes(10);
    private static final Duration SHORT = Duration.ofSeconds(3);
    private static final List<Runnable> SHUTDOWNS = new ArrayList<>();
    private static JedisPooled redis;

    private final String plain = "tests:java:" + UUID.randomUUID();
    private final String bridged = "tests:java:" + UUID.randomUUID();

    @BeforeAll
    static void connect() {
        redis = new JedisPooled(System.getenv("REDIS_URL"));
    }

    @AfterAll
    static void disconnect() {
        SHUTDOWNS.forEach(Runnable::run);
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
    void an_intrusion_that_a_renewal_has_seen_is_reported_by_release_and_close() throws Exception {
        Lock lock = new BridgeLock(new JedisConnection(redis), bridged, SHORT, "php-getset");
        LostException lost = assertThrows(LostException.class, () -> {
            try (Hold hold = lock.tryAcquire().get().keepAlive()) {
                redis.del(bridged);
                while (!redis.exists(bridged)) {
                    Thread.sleep(10);
                }
                assertEquals(Released.INTRUDED, hold.release());
            }
        });
        assertTrue(lost.intruded());
    }

    @Test
    void a_recorded_loss_stays_even_if_the_token_comes_back() {
        for (Lock lock : each()) {
            Hold hold = lock.tryAcquire().get();
            String own = redis.get(tokenKey(lock));
            redis.set(tokenKey(lock), "another client's");
            LostException loss = assertThrows(LostException.class, hold::extend);
            redis.set(tokenKey(lock), own);
            assertSame(loss, assertThrows(LostException.class, hold::extend));
            assertEquals(Released.LOST, hold.release());
            assertFalse(redis.exists(tokenKey(lock)));
        }
    }

    @Test
    void an_intrusion_that_an_extension_has_found_is_reported_even_if_the_token_is_deleted_afterwards() {
        Lock lock = new BridgeLock(new JedisConnection(redis), bridged, LONG, "php-getset");
        Hold hold = lock.tryAcquire().get();
        redis.set(bridged, "1");
        assertTrue(assertThrows(LostException.class, hold::extend).intruded());
        redis.del(bridged, tokenKey(lock));
        assertEquals(Released.INTRUDED, hold.release());
        assertTrue(assertThrows(LostException.class, hold::close).intruded());
    }

    @Test
    void an_intrusion_that_only_the_release_finds_is_reported_instead_of_a_recorded_loss() {
        Lock lock = new BridgeLock(new JedisConnection(redis), bridged, LONG, "php-getset");
        Hold hold = lock.tryAcquire().get();
        String own = redis.get(tokenKey(lock));
        redis.set(tokenKey(lock), "another client's");
        assertFalse(assertThrows(LostException.class, hold::extend).intruded());
        redis.set(tokenKey(lock), own);
        redis.set(bridged, "1");
        assertEquals(Released.INTRUDED, hold.release());
        redis.del(bridged);
    }

    @Test
    void a_recorded_loss_is_reported_by_a_release_whose_own_outcome_is_unknown() {
        for (Lock lock : each(new Breaking(new JedisConnection(redis)), LONG)) {
            Breaking connection = (Breaking) lock.connection;
            boolean isBridge = lock instanceof BridgeLock;
            Hold hold = lock.tryAcquire().get();
            redis.set(lock.key, "1");
            assertThrows(LostException.class, hold::extend);
            connection.isBroken = true;
            assertEquals(isBridge ? Released.INTRUDED : Released.LOST, hold.release());
            assertEquals(isBridge, assertThrows(LostException.class, hold::close).intruded());
            assertEquals(isBridge, redis.exists(tokenKey(lock)) && !"1".equals(redis.get(tokenKey(lock))));
            connection.isBroken = false;
            assertEquals(isBridge ? Released.INTRUDED : Released.LOST, hold.release());
            assertEquals(!isBridge, redis.exists(tokenKey(lock)), "the release is repeated");
            redis.del(lock.key);
        }
    }

    @Test
    void a_hold_is_not_renewed_after_a_failed_release() throws Exception {
        for (Lock lock : each(new Breaking(new JedisConnection(redis)), SHORT)) {
            Breaking connection = (Breaking) lock.connection;
            Hold hold = lock.tryAcquire().get().keepAlive();
            connection.isBroken = true;
            assertThrows(OutcomeUnknownException.class, hold::close);
            connection.isBroken = false;
            hold.keepAlive();
            Thread.sleep(SHORT.toMillis() * 4 / 3);
            assertFalse(redis.exists(tokenKey(lock)), "the lock has expired");
        }
    }

    /** A connection that can break, before or after the server has run the script. */
    private static final class Breaking implements Connection {
        private final Connection inner;
        volatile boolean isBroken;
        volatile boolean isCut;

        Breaking(Connection inner) {
            this.inner = inner;
        }

        @Override
        public Object eval(byte[] script, boolean returnsList, int keys, byte[]... words) {
            if (isBroken) {
                throw new IllegalStateException("broken");
            }
            Object answer = inner.eval(script, returnsList, keys, words);
            if (isCut) {
                throw new IllegalStateException("cut");
            }
            return answer;
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
    void a_release_that_ran_unheard_is_not_called_lost_when_it_is_repeated() {
        for (Lock lock : each(new Breaking(new JedisConnection(redis)), LONG)) {
            Breaking connection = (Breaking) lock.connection;
            Hold hold = lock.tryAcquire().get();
            connection.isCut = true;
            assertThrows(OutcomeUnknownException.class, hold::release);
            connection.isCut = false;
            assertFalse(redis.exists(tokenKey(lock)));
            assertThrows(OutcomeUnknownException.class, hold::release);
        }
    }

    @Test
    void a_release_that_the_client_sends_again_is_not_called_lost() throws Exception {
        try (Relay relay = new Relay()) {
            Connection[] connections = {lettuce(relay.port, true), new SpringConnection(springLettuce(relay.port, true))};
            for (Connection connection : connections) {
                for (Lock lock : each(connection, LONG)) {
                    Hold hold = lock.tryAcquire().get();
                    relay.cutsAt = "EVAL";
                    assertThrows(OutcomeUnknownException.class, hold::release);
                    assertFalse(redis.exists(tokenKey(lock)));
                }
            }
            for (Lock lock : each(lettuce(relay.port, false), LONG)) {
                Hold hold = lock.tryAcquire().get();
                redis.del(tokenKey(lock));
                assertEquals(Released.LOST, hold.release(), "a client that does not reconnect sends a release once");
                redis.del(lock.key);
            }
        }
    }

    private static int port() {
        int port = URI.create(System.getenv("REDIS_URL")).getPort();
        return port < 0 ? 6379 : port;
    }

    private static Connection lettuce(int port, boolean reconnects) {
        RedisClient client = RedisClient.create("redis://127.0.0.1:" + port);
        client.setOptions(ClientOptions.builder().autoReconnect(reconnects).build());
        SHUTDOWNS.add(client::shutdown);
        return new LettuceConnection(client.connect(ByteArrayCodec.INSTANCE));
    }

    private static LettuceConnectionFactory springLettuce(int port, boolean reconnects) {
        LettuceClientConfiguration configuration = LettuceClientConfiguration.builder()
                .clientOptions(ClientOptions.builder().autoReconnect(reconnects).build())
                .build();
        LettuceConnectionFactory factory =
                new LettuceConnectionFactory(new RedisStandaloneConfiguration("127.0.0.1", port), configuration);
        factory.afterPropertiesSet();
        // Version 3 of Spring Data Redis has a method for it.
        if (((Object) factory) instanceof Lifecycle) {
            ((Lifecycle) (Object) factory).start();
        }
        SHUTDOWNS.add(factory::destroy);
        return factory;
    }

    /** A connection of each kind, by its name. */
    private static Map<String, Connection> connections(int port) {
        Map<String, Connection> all = new LinkedHashMap<>();
        all.put("jedis", new JedisConnection(redis));
        all.put("lettuce", lettuce(port, true));
        all.put("spring over lettuce", new SpringConnection(springLettuce(port, true)));
        return all;
    }

    /** The exceptions of Spring over Jedis, for which this test has no fitting pair of versions. */
    @Test
    void spring_over_jedis_tells_an_error_reply_from_an_unknown_outcome() {
        JedisDataException reply = new JedisDataException("ERR of the test");
        Connection answering = springThrowing(new InvalidDataAccessApiUsageException("of the test", reply));
        assertThrows(Connection.ReplyException.class, () -> answering.get(Lock.bytes(plain)));
        assertThrows(Connection.ReplyException.class, () -> new TokenLock(answering, plain, LONG).tryAcquire());
        JedisException broken = new JedisException("of the test");
        Connection breaking = springThrowing(new InvalidDataAccessApiUsageException("of the test", broken));
        assertThrows(InvalidDataAccessApiUsageException.class, () -> breaking.get(Lock.bytes(plain)));
        assertThrows(OutcomeUnknownException.class, () -> new TokenLock(breaking, plain, LONG).tryAcquire());
    }

    private static Connection springThrowing(RuntimeException error) {
        ClassLoader loader = LocksTest.class.getClassLoader();
        Object redis = Proxy.newProxyInstance(loader, new Class<?>[] {RedisConnection.class}, (proxy, method, arguments) -> {
            if (method.getName().equals("close")) {
                return null;
            }
            throw error;
        });
        return new SpringConnection((RedisConnectionFactory) Proxy.newProxyInstance(
                loader, new Class<?>[] {RedisConnectionFactory.class}, (proxy, method, arguments) -> redis));
    }

    @Test
    void an_error_reply_is_told_from_an_unknown_outcome() throws Exception {
        for (Map.Entry<String, Connection> each : connections(port()).entrySet()) {
            for (String code : new String[] {"ERR", "NOSCRIPT", "BUSY", "READONLY", "LOADING"}) {
                byte[] script = Lock.bytes("return redis.error_reply('" + code + " of the test')");
                assertThrows(
                        Connection.ReplyException.class,
                        () -> each.getValue().eval(script, false, 1, Lock.bytes(plain)),
                        each.getKey() + " " + code);
            }
        }
    }

    @Test
    void a_key_of_another_type_is_held_by_another_client() throws Exception {
        redis.hset(plain, "field", "value");
        redis.hset(bridged, "field", "value");
        for (Map.Entry<String, Connection> each : connections(port()).entrySet()) {
            for (Lock lock : each(each.getValue(), LONG)) {
                assertFalse(lock.tryAcquire().isPresent(), each.getKey());
            }
        }
        redis.del(plain, bridged);
    }

    @Test
    void a_key_that_a_client_replaces_by_another_type_is_lost() throws Exception {
        for (Map.Entry<String, Connection> each : connections(port()).entrySet()) {
            for (Lock lock : each(each.getValue(), LONG)) {
                Hold hold = lock.tryAcquire().get();
                redis.del(tokenKey(lock));
                redis.hset(tokenKey(lock), "field", "value");
                assertFalse(assertThrows(LostException.class, hold::extend, each.getKey()).intruded());
                assertEquals(Released.LOST, hold.release(), each.getKey());
                redis.del(tokenKey(lock), lock.key);
            }
        }
        for (Lock lock : each()) {
            Hold hold = lock.tryAcquire().get();
            redis.del(tokenKey(lock));
            redis.hset(tokenKey(lock), "field", "value");
            assertEquals(Released.LOST, hold.release());
            assertTrue(redis.exists(tokenKey(lock)), "another client's");
            redis.del(tokenKey(lock), lock.key);
        }
    }

    @Test
    void a_wrong_type_in_a_script_is_recognized_on_servers_before_7() {
        String text = "ERR Error running script (call to f_1): @user_script:1: WRONGTYPE Operation against a key of another type";
        assertTrue(new Connection.ReplyException(new JedisDataException(text)).isWrongType());
        assertFalse(new Connection.ReplyException(new JedisDataException("ERR of the test")).isWrongType());
    }

    /** Jedis before 4.4 does not have the class. */
    @Test
    void a_unified_client_of_a_jedis_without_sentineled_clients_may_send_again() throws Exception {
        List<java.net.URL> path = new ArrayList<>();
        for (String part : System.getProperty("java.class.path").split(File.pathSeparator)) {
            path.add(Path.of(part).toUri().toURL());
        }
        java.net.URL[] urls = path.toArray(new java.net.URL[0]);
        try (java.net.URLClassLoader loader = new java.net.URLClassLoader(urls, ClassLoader.getPlatformClassLoader()) {
            @Override
            protected Class<?> findClass(String name) throws ClassNotFoundException {
                if (name.endsWith(".JedisSentineled")) {
                    throw new ClassNotFoundException(name);
                }
                return super.findClass(name);
            }
        }) {
            Class<?> unified = loader.loadClass("redis.clients.jedis.UnifiedJedis");
            Class<?> pooled = loader.loadClass("redis.clients.jedis.JedisPooled");
            Class<?> connection = loader.loadClass("dev.lockshift.JedisConnection");
            for (Class<?> type : new Class<?>[] {unified, pooled}) {
                try (AutoCloseable client =
                        (AutoCloseable) type.getConstructor(URI.class).newInstance(URI.create(System.getenv("REDIS_URL")))) {
                    Object made = connection.getConstructor(unified).newInstance(client);
                    assertEquals(type == unified, connection.getMethod("resends").invoke(made));
                }
            }
        }
    }

    @Test
    void an_interrupted_attempt_is_released_again_and_stays_interrupted() throws Exception {
        try (Relay relay = new Relay()) {
            for (String name : new String[] {"lettuce", "spring over lettuce"}) {
                for (int which = 0; which < 2; which++) {
                    relay.withholds = false;
                    Lock lock = each(connections(relay.port).get(name), LONG)[which];
                    assertEquals(Released.FREED, lock.tryAcquire().get().release());
                    relay.withholds = true;
                    CompletableFuture<Boolean> isInterrupted = new CompletableFuture<>();
                    Thread thread = new Thread(() -> {
                        try {
                            assertThrows(OutcomeUnknownException.class, lock::tryAcquire, name);
                            isInterrupted.complete(Thread.currentThread().isInterrupted());
                        } catch (Throwable error) {
                            isInterrupted.completeExceptionally(error);
                        }
                    });
                    thread.start();
                    while (!redis.exists(tokenKey(lock))) {
                        Thread.sleep(10);
                    }
                    thread.interrupt();
                    assertTrue(isInterrupted.get(30, TimeUnit.SECONDS), name);
                    for (int tries = 0; redis.exists(tokenKey(lock)); tries++) {
                        assertTrue(tries < 300, name + " leaves the lock for its lease");
                        Thread.sleep(10);
                    }
                }
            }
        }
    }

    @Test
    void a_dropped_connection_leaves_the_outcome_unknown() throws Exception {
        try (Relay relay = new Relay()) {
            for (Connection connection : new Connection[] {
                lettuce(relay.port, false), new SpringConnection(springLettuce(relay.port, false)),
            }) {
                Lock lock = new TokenLock(connection, plain, LONG);
                assertEquals(Released.FREED, lock.tryAcquire().get().release());
                relay.cutsAt = "SET";
                assertThrows(OutcomeUnknownException.class, lock::tryAcquire);
                redis.del(plain);
            }
        }
    }

    @Test
    void a_server_that_hangs_delays_no_renewal_on_others() throws Exception {
        CountDownLatch asked = new CountDownLatch(1);
        CountDownLatch ends = new CountDownLatch(1);
        Stuck stuck = new Stuck(new JedisConnection(redis), asked, ends);
        new TokenLock(stuck, plain + ":stuck", SHORT).tryAcquire().get().keepAlive();
        asked.await();
        try (Hold hold = new TokenLock(new JedisConnection(redis), plain, SHORT).tryAcquire().get().keepAlive()) {
            Thread.sleep(SHORT.toMillis() * 4 / 3);
            assertFalse(hold.isLost());
            assertEquals(1, stuck.calls.get(), "a hold is renewed once at a time");
        } finally {
            ends.countDown();
        }
    }

    @Test
    void a_released_hold_leaves_no_scheduled_renewal() {
        for (Lock lock : each()) {
            int before = Hold.TIMER.getQueue().size();
            for (int turn = 0; turn < 50; turn++) {
                lock.tryAcquire().get().keepAlive().close();
            }
            assertTrue(Hold.TIMER.getQueue().size() <= before);
        }
    }

    @Test
    void a_lease_is_between_a_millisecond_and_a_century() {
        Connection connection = new JedisConnection(redis);
        Duration century = Duration.ofDays(36_500);
        Duration[] refused = {
            Duration.ZERO, Duration.ofNanos(999_999), Duration.ofSeconds(-1), century.plusMillis(1),
            Duration.ofSeconds(Long.MAX_VALUE), Duration.ofSeconds(Long.MIN_VALUE),
        };
        for (Duration lease : refused) {
            assertThrows(IllegalArgumentException.class, () -> each(connection, lease));
        }
        for (Lock lock : each(connection, century)) {
            Hold hold = lock.tryAcquire().get().keepAlive();
            assertFalse(hold.isLost());
            hold.extend();
            assertEquals(Released.FREED, hold.release());
        }
    }

    @Test
    void a_number_that_no_client_writes_is_live_whatever_its_size() {
        char[] nines = new char[1_000_000];
        Arrays.fill(nines, '9');
        String[] values = {
            "1e999999999", "1e99999999999", "1e-999999999", "1e-99999999999", "0.1e999999999", new String(nines),
        };
        for (String dialect : new String[] {"php-getset", "stackexchange-ticks"}) {
            Lock lock = new BridgeLock(new JedisConnection(redis), bridged, LONG, dialect);
            for (String value : values) {
                redis.set(bridged, value);
                assertTimeoutPreemptively(Duration.ofSeconds(10), () -> assertFalse(lock.tryAcquire().isPresent()));
            }
            for (String value : new String[] {"1700000000", "1700000000.25", "1.7e9"}) {
                assertEquals(dialect.equals("php-getset"), new Fleet(Arrays.asList(dialect))
                        .isExpired(Lock.bytes(value), 1000, System.currentTimeMillis()), value);
            }
        }
        redis.del(bridged);
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
        final AtomicInteger calls = new AtomicInteger();

        Stuck(Connection inner, CountDownLatch asked, CountDownLatch ends) {
            this.inner = inner;
            this.asked = asked;
            this.ends = ends;
        }

        @Override
        public Object eval(byte[] script, boolean returnsList, int keys, byte[]... words) {
            calls.incrementAndGet();
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
            redis.del("invoices", BridgeLock.newKey("invoices"));
            compiled.getMethod("run").invoke(null);
            assertEquals(1, compiled.getField("worked").getInt(null));
        }
    }
}
