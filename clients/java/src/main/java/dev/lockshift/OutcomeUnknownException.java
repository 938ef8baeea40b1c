package dev.lockshift;

/**
 * The connection broke after a command that the server may have run, or a release may have run twice. After an attempt, the
 * lock has been released again as far as the server could be reached; otherwise it expires.
 */
public final class OutcomeUnknownException extends RuntimeException {
    private static final long serialVersionUID = 1;

    OutcomeUnknownException(String message, Throwable cause) {
        super(message, cause);
    }
}
