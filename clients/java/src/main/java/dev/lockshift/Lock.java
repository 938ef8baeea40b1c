package dev.lockshift;

import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;

/** What both locks share: attempts, waiting, scripts. */
public abstract class Lock {
    private static final SecureRandom RANDOM = new SecureRandom();
    private static final Duration SHORTEST_LEASE = Duration.ofMillis(1);
    private static final Duration LONGEST_LEASE = Duration.ofDays(36_500);

    final Connection connection;
    final String key;
    final long leaseMs;

    Lock(Connection connection, String key, Duration lease) {
        if (lease.compareTo(SHORTEST_LEASE) < 0 || lease.compareTo(LONGEST_LEASE) > 0) {
            throw new IllegalArgumentException("a lease is between a millisecond and a century, not " + lease);
        }
        this.connection = connection;
        this.key = key;
        leaseMs = lease.toMillis();
    }

    /** One attempt: a hold, or empty if another client holds the lock. */
    public final Optional<Hold> tryAcquire() {
        String token = newToken();
        long since = System.nanoTime();
        boolean won;
        try {
            won = attempt(token);
        } catch (Connection.ReplyException error) {
            throw error;
        } catch (RuntimeException error) {
            // It may have run: released again, as far as the server can be reached.
            try {
                release(token);
            } catch (RuntimeException again) {
                error.addSuppressed(again);
            }
            throw new OutcomeUnknownException("cannot tell whether " + key + " was acquired: " + error.getMessage(), error);
        }
        return won ? Optional.of(new Hold(this, token, since)) : Optional.empty();
    }

    /** Attempts until the timeout: a hold, or empty if another client held the lock all the time. */
    public final Optional<Hold> acquire(Duration timeout) throws InterruptedException {
        long deadline = System.nanoTime() + timeout.toNanos();
        for (long pauseMs = 10;; pauseMs = Math.min(2 * pauseMs, 500)) {
            try {
                Optional<Hold> hold = tryAcquire();
                if (hold.isPresent()) {
                    return hold;
                }
            } catch (OutcomeUnknownException error) {
                if (System.nanoTime() - deadline >= 0) {
                    throw error;
                }
            }
            long leftMs = (deadline - System.nanoTime()) / 1_000_000;
            if (leftMs <= 0) {
                return Optional.empty();
            }
            Thread.sleep(Math.min(leftMs, ThreadLocalRandom.current().nextLong(pauseMs / 2, pauseMs + 1)));
        }
    }

    /** Whether this attempt has won. */
    abstract boolean attempt(String token);

    /** 1 extended, 2 extended and intruded, 0 lost. */
    abstract long extend(String token);

    /** 1 freed, 2 freed and intruded, 0 lost. */
    abstract long release(String token);

    final long settled(byte[] script, int keys, byte[]... keysAndArguments) {
        try {
            return (Long) connection.eval(script, false, keys, keysAndArguments);
        } catch (Connection.ReplyException error) {
            // A hash, for example, is another client's.
            if (error.isWrongType()) {
                return 0;
            }
            throw error;
        } catch (RuntimeException error) {
            throw new OutcomeUnknownException("cannot tell what became of " + key + ": " + error.getMessage(), error);
        }
    }

    static byte[] bytes(Object text) {
        return text.toString().getBytes(StandardCharsets.UTF_8);
    }

    private static String newToken() {
        StringBuilder hex = new StringBuilder();
        byte[] random = new byte[16];
        RANDOM.nextBytes(random);
        for (byte one : random) {
            hex.append(String.format("%02x", one));
        }
        return hex.toString();
    }
}
