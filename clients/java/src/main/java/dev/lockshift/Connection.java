package dev.lockshift;

/**
 * What the locks need of a Redis client. {@link JedisConnection}, {@link LettuceConnection} and {@link SpringConnection}
 * are ready; a lambda-sized class makes any other client one.
 */
public interface Connection {
    /**
     * Runs a script: the keys first, then the arguments.
     *
     * @return a {@code Long}, or a {@code List} of {@code Long} and {@code byte[]}
     * @throws ReplyException the server has answered with an error
     * @throws RuntimeException anything else: whether the script has run is unknown
     */
    Object eval(byte[] script, boolean returnsList, int keys, byte[]... keysAndArguments);

    /** {@code SET key value NX PX}; whether the key was missing. Errors as above. */
    boolean setIfMissing(byte[] key, byte[] value, long leaseMs);

    /** {@code GET}; {@code null} without a value. Errors as above. */
    byte[] get(byte[] key);

    /** Whether the client may send a command again after it has reconnected, so that the server runs it twice. */
    default boolean resends() {
        return false;
    }

    /** The server has answered with an error: the command has changed nothing. */
    final class ReplyException extends RuntimeException {
        private static final long serialVersionUID = 1;

        public ReplyException(RuntimeException cause) {
            super(cause.getMessage(), cause);
        }

        /**
         * Whether the key is of another type than the command expects. Spring wraps the exception that has the server's text.
         * In a script, servers before 7.0 put words of their own before the error.
         */
        boolean isWrongType() {
            for (Throwable error = this; error != null; error = error.getCause()) {
                if (error.getMessage() != null && error.getMessage().contains("WRONGTYPE ")) {
                    return true;
                }
            }
            return false;
        }
    }
}
