import java.io.IOException;
import java.util.concurrent.ThreadLocalRandom;
import redis.clients.jedis.Jedis;

/**
 * A worker written in Java: acquires the lock in its role, does its piece of work, counted by the witness, releases the
 * lock, and starts again until its standard input ends. Compiled twice: for the Jedis of jedis-lock, and for today's.
 */
final class Worker {
    /** Twenty processes may share one core. */
    static final int TIMEOUT_MS = 10_000;

    /** The lock of a role. */
    interface JobLock {
        boolean acquire() throws InterruptedException;

        /** Whether an old client intruded. */
        boolean release();
    }

    private final Jedis witness;
    private final String key;
    private final long leaseMs;
    private final String number;
    private volatile boolean hasEnded;

    /** The arguments of both programs are HOST PORT ROLE KEY LEASE_MS NUMBER. */
    Worker(String[] arguments) {
        witness = new Jedis(arguments[0], Integer.parseInt(arguments[1]), TIMEOUT_MS);
        key = arguments[3];
        leaseMs = Long.parseLong(arguments[4]);
        number = arguments[5];
        Thread end = new Thread(this::awaitEndOfInput);
        end.setDaemon(true);
        end.start();
    }

    void work(JobLock lock) throws InterruptedException {
        long wanted = System.nanoTime();
        while (!hasEnded) {
            long began = System.nanoTime();
            if (!lock.acquire()) {
                Thread.sleep(ThreadLocalRandom.current().nextLong(5, 41));
                continue;
            }
            String report = number + " " + (System.nanoTime() - wanted) / 1_000_000;

            report += witness.incr(key + ":inside") > 1 ? " double" : "";
            String done = witness.get(key + ":work");
            Thread.sleep(3);
            witness.set(key + ":work", String.valueOf(done == null ? 1 : Long.parseLong(done) + 1));
            witness.decr(key + ":inside");

            report += System.nanoTime() - began > leaseMs * 1_000_000 ? " late" : "";
            report += lock.release() ? " intruded" : "";
            witness.rpush("example:holds", report);
            Thread.sleep(ThreadLocalRandom.current().nextLong(0, 7));
            wanted = System.nanoTime();
        }
    }

    private void awaitEndOfInput() {
        try {
            while (System.in.read() >= 0) {}
        } catch (IOException error) {
            // An error is an end as well.
        }
        hasEnded = true;
    }
}
