package dev.lockshift;

import java.util.Arrays;
import java.util.List;
import java.util.function.Supplier;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.params.SetParams;

/** Jedis 4 and later: {@code JedisPooled}, {@code JedisCluster} or another {@code UnifiedJedis}. */
public final class JedisConnection implements Connection {
    /** By name: Jedis before 4.4 does not have the second. */
    private static final List<String> SEND_ONCE = Arrays.asList(
            "redis.clients.jedis.JedisPooled", "redis.clients.jedis.JedisSentineled");

    private final UnifiedJedis jedis;

    public JedisConnection(UnifiedJedis jedis) {
        this.jedis = jedis;
    }

    @Override
    public Object eval(byte[] script, boolean returnsList, int keys, byte[]... keysAndArguments) {
        return answered(() -> jedis.eval(script, keys, keysAndArguments));
    }

    @Override
    public boolean setIfMissing(byte[] key, byte[] value, long leaseMs) {
        return answered(() -> jedis.set(key, value, SetParams.setParams().nx().px(leaseMs))) != null;
    }

    @Override
    public byte[] get(byte[] key) {
        return answered(() -> jedis.get(key));
    }

    /** {@code JedisCluster} does, and a {@code UnifiedJedis} may. */
    @Override
    public boolean resends() {
        for (Class<?> type = jedis.getClass(); type != null; type = type.getSuperclass()) {
            if (SEND_ONCE.contains(type.getName())) {
                return false;
            }
        }
        return true;
    }

    private static <T> T answered(Supplier<T> command) {
        try {
            return command.get();
        } catch (JedisDataException error) {
            throw new ReplyException(error);
        }
    }
}
