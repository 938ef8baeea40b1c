/** The locks of one library for one session: everything here is called on the session's own thread. */
interface Locks extends AutoCloseable {
    /** One try. */
    boolean acquire(String dialect, String key, long leaseMs) throws Exception;

    /** The library's own waiting, where it has one. */
    default boolean lock(String dialect, String key, long leaseMs, long patienceMs) throws Exception {
        throw new UnsupportedOperationException("this library polls");
    }

    /** What the library answers; `true` where it answers nothing. */
    boolean release(String key) throws Exception;

    /** Whether the lock is held on; `null` if the library has no such thing. */
    default Boolean extend(String key, long leaseMs) throws Exception {
        return null;
    }

    /** Any other question. */
    default String other(String verb, String[] args) throws Exception {
        throw new IllegalArgumentException("no such question: " + verb);
    }

    /** A counter that the locks do not know, on a connection of its own. */
    Counter counter();

    /** Adds to the number in a key and answers the sum. */
    interface Counter extends AutoCloseable {
        long add(String key, long by);

        @Override
        void close();
    }

    @Override
    void close();

    /** Makes the locks of one session. */
    interface Library {
        Locks open();

        /** Names and versions of what is spoken through. */
        String version();
    }
}
