package dev.lockshift;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;

/** One lock of both generations: a stamp in the old key for the clients of these dialects, a token in its new key. */
public final class BridgeLock extends Lock {
    private static final byte[] ACQUIRE = Fleet.script("bridge-acquire");
    private static final byte[] EXTEND = Fleet.script("bridge-extend");
    private static final byte[] RELEASE = Fleet.script("bridge-release");
    /** Between the first brace and the first that closes it: {@code {}:{42}} has none. */
    private static final Pattern HASH_TAG = Pattern.compile("\\A[^{]*\\{[^}]+\\}");

    private final Fleet fleet;
    private final byte[] oldKey;
    private final byte[] newKey;

    /**
     * @param dialects as {@code lockshift protocols} lists them
     * @throws NotBridgeableException no stamp keeps this fleet out, or its dialects do not exclude each other
     */
    public BridgeLock(Connection connection, String key, Duration lease, String... dialects) {
        super(connection, key, lease);
        fleet = new Fleet(Arrays.asList(dialects));
        oldKey = bytes(key);
        newKey = bytes(newKey(key));
    }

    /** The key beside {@code key}, in the same slot of a cluster, that clients of the token lock use. */
    public static String newKey(String key) {
        if (HASH_TAG.matcher(key).find()) {
            return key + ":token";
        }
        if (key.isEmpty() || key.contains("}")) {
            throw new IllegalArgumentException(
                    "cannot derive the new key of '" + key + "': it is empty or has a brace without a hash tag");
        }
        return "{" + key + "}:token";
    }

    @Override
    boolean attempt(String token) {
        List<?> answer = bid(token, null);
        if (answer.get(0).equals(2L)) {
            byte[] found = (byte[]) answer.get(1);
            if (fleet.isExpired(found, leaseMs, System.currentTimeMillis())) {
                // Replaces exactly the value that was judged.
                answer = bid(token, found);
            }
        }
        return answer.get(0).equals(1L);
    }

    private List<?> bid(String token, byte[] expired) {
        byte[][] words = {newKey, oldKey, bytes(token), bytes(leaseMs), stamp(token), expired};
        return (List<?>) connection.eval(ACQUIRE, true, 2, Arrays.copyOf(words, expired == null ? 5 : 6));
    }

    @Override
    long extend(String token) {
        return settled(EXTEND, 2, newKey, oldKey, bytes(token), bytes(leaseMs), stamp(token));
    }

    @Override
    long release(String token) {
        return settled(RELEASE, 2, newKey, oldKey, bytes(token));
    }

    private byte[] stamp(String token) {
        return fleet.stamp(token, leaseMs, System.currentTimeMillis());
    }
}
