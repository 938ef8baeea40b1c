package dev.lockshift;

/** No stamp keeps this fleet out, or its dialects do not exclude each other. */
public final class NotBridgeableException extends IllegalArgumentException {
    private static final long serialVersionUID = 1;

    NotBridgeableException(String message) {
        super(message);
    }
}
