package dev.lockshift;

import java.time.Duration;
import java.util.Arrays;

/**
 * The modern lock on one key: {@code SET key token NX PX lease}, released and extended by its token only. Beside bridges,
 * the key is {@link BridgeLock#newKey}.
 */
public final class TokenLock extends Lock {
    private static final byte[] EXTEND = Fleet.script("token-extend");
    private static final byte[] RELEASE = Fleet.script("token-release");

    public TokenLock(Connection connection, String key, Duration lease) {
        super(connection, key, lease);
    }

    @Override
    boolean attempt(String token) {
        if (connection.setIfMissing(bytes(key), bytes(token), leaseMs)) {
            return true;
        }
        try {
            // A Redis client that sends a command again after it reconnected finds the token of its own first run.
            return Arrays.equals(connection.get(bytes(key)), bytes(token));
        } catch (Connection.ReplyException error) {
            // A hash, for example, is another client's.
            if (error.isWrongType()) {
                return false;
            }
            throw error;
        }
    }

    @Override
    long extend(String token) {
        return settled(EXTEND, 1, bytes(key), bytes(token), bytes(leaseMs));
    }

    @Override
    long release(String token) {
        return settled(RELEASE, 1, bytes(key), bytes(token));
    }
}
