package dev.lockshift;

import java.time.Duration;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** An acquired lock, for {@code try}-with-resources. It does not renew itself: {@link #keepAlive} does. */
public final class Hold implements AutoCloseable {
    private static final ScheduledExecutorService RENEWAL = Executors.newScheduledThreadPool(1, task -> {
        Thread thread = new Thread(task, "lockshift-renewal");
        thread.setDaemon(true);
        return thread;
    });

    private final Lock lock;
    private final String token;
    // Read without the monitor, which a renewal holds while it waits for the server.
    private volatile long untilNanos;
    private volatile LostException loss;
    private Released released;
    private boolean renews;

    Hold(Lock lock, String token, long sinceNanos) {
        this.lock = lock;
        this.token = token;
        untilNanos = sinceNanos + lock.leaseMs * 1_000_000;
    }

    /** Whether the lock is lost: its lease has ended, another client has it, or an old client has intruded. */
    public boolean isLost() {
        return loss != null || System.nanoTime() - untilNanos >= 0;
    }

    /** How long the lease still runs. */
    public Duration remaining() {
        return Duration.ofNanos(Math.max(0, untilNanos - System.nanoTime()));
    }

    /**
     * Renews the lease from now.
     *
     * @throws LostException
     * @throws OutcomeUnknownException
     */
    public synchronized void extend() {
        long since = System.nanoTime();
        long answer = lock.extend(token);
        if (answer == 1) {
            untilNanos = since + lock.leaseMs * 1_000_000;
            return;
        }
        loss = answer == 2
                ? new LostException("an old client has changed " + lock.key + " while it was held", true)
                : new LostException("the lock " + lock.key + " belongs to another client, or has expired", false);
        throw loss;
    }

    /** Renews the lease in a thread of this package, three times a lease, until release or loss. */
    public synchronized Hold keepAlive() {
        if (!renews) {
            renews = true;
            later(lock.leaseMs / 3);
        }
        return this;
    }

    private void later(long pauseMs) {
        RENEWAL.schedule(this::renew, Math.max(1, pauseMs), TimeUnit.MILLISECONDS);
    }

    private synchronized void renew() {
        if (released != null || isLost()) {
            return;
        }
        try {
            extend();
            later(lock.leaseMs / 3);
        } catch (LostException error) {
            // isLost() says so.
        } catch (RuntimeException error) {
            // The lease still runs: sooner the next time.
            later(lock.leaseMs / 30);
        }
    }

    /** Releases the lock. Only what this hold has written is deleted. A second call returns what the first has found. */
    public synchronized Released release() {
        if (released == null) {
            Released found = Released.values()[(int) lock.release(token)];
            released = found;
        }
        return released;
    }

    /**
     * Releases the lock.
     *
     * @throws LostException if it was lost meanwhile
     */
    @Override
    public void close() {
        if (release() != Released.FREED) {
            throw new LostException(lock.key + " was lost before its release", released == Released.INTRUDED);
        }
    }
}
