import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Redisson: {@code Worker PORT}. What it is asked and answers is described in ../src/worker.rs. */
public final class Worker {
    private static final long LEASE_SECONDS = 30;

    private final RedissonClient redisson;

    private Worker(RedissonClient redisson) {
        this.redisson = redisson;
    }

    public static void main(String[] args) throws Exception {
        Config config = new Config();
        config.useSingleServer().setAddress("redis://127.0.0.1:" + args[0]);
        Worker worker = new Worker(Redisson.create(config));
        System.out.println("ready");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(worker.answer(line.split(" ")));
        }
        System.exit(0);
    }

    private String answer(String[] words) throws Exception {
        if (words[0].equals("cycles")) {
            return cycles(Integer.parseInt(words[1]), Integer.parseInt(words[2]));
        }
        long length = Long.parseLong(words[3]);
        long hold = Long.parseLong(words[4]);
        return contend(words[1], Integer.parseInt(words[2]), length, hold, words[5].equals("reads"));
    }

    private String cycles(int tasks, int count) throws Exception {
        long began = System.nanoTime();
        List<Runnable> work = new ArrayList<>();
        for (int task = 0; task < tasks; task++) {
            RLock lock = redisson.getLock("peers-" + task);
            work.add(() -> {
                for (int cycle = 0; cycle < count; cycle++) {
                    lock.lock(LEASE_SECONDS, TimeUnit.SECONDS);
                    lock.unlock();
                }
            });
        }
        inThreads(work);
        return Long.toString(System.nanoTime() - began);
    }

    private static void inThreads(List<Runnable> work) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(work.size());
        List<Future<?>> working = new ArrayList<>();
        for (Runnable one : work) {
            working.add(threads.submit(one));
        }
        for (Future<?> one : working) {
            one.get();
        }
        threads.shutdown();
    }

    private String contend(String key, int clients, long lengthMs, long holdMs, boolean reads) throws Exception {
        long end = System.nanoTime() + lengthMs * 1_000_000;
        List<Long> waits = Collections.synchronizedList(new ArrayList<>());
        long[] acquisitions = new long[clients];
        long[] held = new long[clients];
        List<Runnable> work = new ArrayList<>();
        for (int client = 0; client < clients; client++) {
            int number = client;
            RLock exclusive = reads ? redisson.getReadWriteLock(key).writeLock() : redisson.getLock(key);
            RLock shared = reads ? redisson.getReadWriteLock(key).readLock() : exclusive;
            work.add(() -> {
                int turn = number;
                while (System.nanoTime() < end) {
                    RLock lock = turn++ % 20 == 0 ? exclusive : shared;
                    long waiting = System.nanoTime();
                    try {
                        boolean won = lock.tryLock(end - waiting, LEASE_SECONDS * 1_000_000_000, TimeUnit.NANOSECONDS);
                        waits.add(System.nanoTime() - waiting);
                        if (!won) {
                            return;
                        }
                        if (System.nanoTime() < end) {
                            acquisitions[number]++;
                            long holding = System.nanoTime();
                            Thread.sleep(holdMs);
                            held[number] += Math.max(0, Math.min(System.nanoTime(), end) - holding);
                        }
                        lock.unlock();
                    } catch (InterruptedException interrupted) {
                        throw new IllegalStateException(interrupted);
                    }
                }
            });
        }
        inThreads(work);
        long allAcquisitions = 0;
        long allHeld = 0;
        for (int client = 0; client < clients; client++) {
            allAcquisitions += acquisitions[client];
            allHeld += held[client];
        }
        List<Long> sorted = new ArrayList<>(waits);
        Collections.sort(sorted);
        return allAcquisitions + " " + allHeld + " " + percentile(sorted, 50) + " " + percentile(sorted, 99);
    }

    private static long percentile(List<Long> sorted, int percent) {
        return sorted.get(Math.max(1, (sorted.size() * percent + 99) / 100) - 1);
    }
}
