package dev.lockshift;

import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** An acquired lock, for {@code try}-with-resources. It does not renew itself: {@link #keepAlive} does. */
public final class Hold implements AutoCloseable {
    /** Only hands renewals on: it never waits for a server. */
    static final ScheduledThreadPoolExecutor TIMER = new ScheduledThreadPoolExecutor(1, Hold::daemon);
    /** Every renewal has a thread: a server that hangs delays no renewal on others. */
    private static final Executor RENEWALS = Executors.newCachedThreadPool(Hold::daemon);

    static {
        TIMER.setRemoveOnCancelPolicy(true);
    }

    private final Lock lock;
    private final String token;
    // Read without the monitor, which a renewal holds while it waits for the server.
    private volatile long untilNanos;
    private volatile LostException loss;
    private Released released;
    // Set even if the release fails: from then on the lock is left to expire.
    private boolean releaseSent;
    private Future<?> renewal;

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
     * @throws LostException if the lock is lost, or was found lost before
     * @throws OutcomeUnknownException
     */
    public synchronized void extend() {
        if (loss != null) {
            throw loss;
        }
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

    /** Renews the lease in a thread of this package, three times a lease, until release, even a failed one, or loss. */
    public synchronized Hold keepAlive() {
        if (renewal == null && !releaseSent) {
            later(lock.leaseMs / 3);
        }
        return this;
    }

    private void later(long pauseMs) {
        // The next renewal is scheduled when one has ended: there are never two at once.
        renewal = TIMER.schedule(() -> RENEWALS.execute(this::renew), Math.max(1, pauseMs), TimeUnit.MILLISECONDS);
    }

    private synchronized void renew() {
        if (releaseSent || isLost()) {
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

    /**
     * Releases the lock. Only what this hold has written is deleted. A second call returns what the first has found, or
     * repeats a release that failed. Renewal ends in any case.
     *
     * <p>The lock may be gone before the lease ends because another client has deleted it, or because an earlier run of this
     * release has: a client such as Lettuce sends a command again after it has reconnected. If that is possible, the outcome
     * is unknown. If the lease ends before the reply, it is {@link Released#LOST}, although an earlier run may have freed the
     * lock in time.
     *
     * <p>A loss that {@link #extend} or a renewal has found is returned whatever the server answers, and even if no reply
     * arrives; an intrusion that only the release finds is returned instead of another loss.
     *
     * @throws OutcomeUnknownException
     */
    public synchronized Released release() {
        boolean mayRunTwice = releaseSent || lock.connection.resends();
        releaseSent = true;
        if (renewal != null) {
            renewal.cancel(false);
        }
        if (released != null) {
            return released;
        }
        Released found;
        try {
            found = Released.values()[(int) lock.release(token)];
        } catch (OutcomeUnknownException error) {
            if (loss == null) {
                throw error;
            }
            // Not kept in `released`: a second call repeats the release.
            return recordedLoss();
        }
        if (found == Released.LOST && mayRunTwice && !isLost()) {
            throw new OutcomeUnknownException("cannot tell whether " + lock.key + " was lost or released by the first of"
                    + " two runs of the release", null);
        }
        // The server does not know of a loss that an extension has found.
        released = loss != null && found != Released.INTRUDED ? recordedLoss() : found;
        return released;
    }

    private Released recordedLoss() {
        return loss.intruded() ? Released.INTRUDED : Released.LOST;
    }

    /**
     * Releases the lock.
     *
     * @throws LostException if it was lost meanwhile
     * @throws OutcomeUnknownException as {@link #release}
     */
    @Override
    public void close() {
        Released found = release();
        if (found != Released.FREED) {
            throw new LostException(lock.key + " was lost before its release", found == Released.INTRUDED);
        }
    }

    private static Thread daemon(Runnable task) {
        Thread thread = new Thread(task, "lockshift-renewal");
        thread.setDaemon(true);
        return thread;
    }
}
