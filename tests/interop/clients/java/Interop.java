import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;

/**
 * A foreign client in Java, on standard input and output. What it is asked and what it answers is described in
 * tests/interop/foreign.rs. Each session has a thread of its own, which is what makes an owner for some libraries.
 */
final class Interop {
    private static final class Session {
        final ExecutorService thread = Executors.newSingleThreadExecutor(task -> {
            Thread thread = new Thread(task);
            thread.setDaemon(true);
            return thread;
        });
        Locks locks;
    }

    static void serve(Locks.Library library) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        Map<String, Session> sessions = new HashMap<>();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            Session session = sessions.computeIfAbsent(words[0], name -> new Session());
            session.thread.execute(() -> {
                String answer = answer(library, session, words[1], Arrays.copyOfRange(words, 2, words.length));
                synchronized (System.out) {
                    System.out.println(words[0] + " " + answer);
                }
            });
        }
        Runtime.getRuntime().halt(0);
    }

    private static String answer(Locks.Library library, Session session, String verb, String[] args) {
        try {
            if (session.locks == null) {
                session.locks = library.open();
            }
            return answer(library, session.locks, verb, args);
        } catch (Throwable error) {
            return ("failed " + error).replace('\n', ' ');
        }
    }

    private static String answer(Locks.Library library, Locks locks, String verb, String[] args) throws Exception {
        switch (verb) {
            case "version":
                return library.version() + ", Java";
            case "acquire":
                return locks.acquire(args[0], args[1], Long.parseLong(args[2])) ? "won" : "held";
            case "lock":
                long patienceMs = Long.parseLong(args[3]);
                return locks.lock(args[0], args[1], Long.parseLong(args[2]), patienceMs) ? "won" : "held";
            case "release":
                return locks.release(args[0]) ? "released" : "refused";
            case "extend":
                Boolean extended = locks.extend(args[0], Long.parseLong(args[1]));
                return extended == null ? "unspoken" : extended ? "extended" : "lost";
            case "work":
                return work(locks, args[0], args[1], args[2], Arrays.stream(args, 3, 6).mapToLong(Long::parseLong).toArray());
            case "crash":
                Runtime.getRuntime().halt(9);
        }
        return locks.other(verb, args);
    }

    /** The contended cycles of one worker: how many, how long each holds, for what lease. */
    private static String work(Locks locks, String dialect, String key, String witness, long[] numbers) throws Exception {
        long done = 0, doubles = 0, overruns = 0;
        try (Locks.Counter counter = locks.counter()) {
            while (done < numbers[0]) {
                long began = System.nanoTime();
                if (locks.acquire(dialect, key, numbers[2])) {
                    doubles += counter.add(witness, 1) > 1 ? 1 : 0;
                    Thread.sleep(numbers[1]);
                    counter.add(witness, -1);
                    overruns += System.nanoTime() - began > numbers[2] * 1_000_000 ? 1 : 0;
                    locks.release(key);
                    done++;
                }
                Thread.sleep(0, ThreadLocalRandom.current().nextInt(500_000, 999_999));
            }
        }
        return "worked " + done + " " + doubles + " " + overruns;
    }

    /** The version in the name of the jar that a class comes from. */
    static String versionOf(Class<?> one) {
        String jar = one.getProtectionDomain().getCodeSource().getLocation().getPath();
        return jar.replaceAll(".*?-([0-9][^/]*)\\.jar", "$1");
    }

    private Interop() {}
}
