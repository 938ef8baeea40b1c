package dev.lockshift;

/** The lock was not held to the end. */
public final class LostException extends RuntimeException {
    private static final long serialVersionUID = 1;
    private final boolean intruded;

    LostException(String message, boolean intruded) {
        super(message);
        this.intruded = intruded;
    }

    /** Whether an old client has overwritten or deleted the bridge's stamp. */
    public boolean intruded() {
        return intruded;
    }
}
