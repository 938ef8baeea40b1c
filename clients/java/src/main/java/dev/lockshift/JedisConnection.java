package dev.lockshift;

import java.util.function.Supplier;
import redis.clients.jedis.JedisPooled;
import redis.clients.jedis.JedisSentineled;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.params.SetParams;

/** Jedis 4 and later: {@code JedisPooled}, {@code JedisCluster} or another {@code UnifiedJedis}. */
public final class JedisConnection implements Connection {
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
        return !(jedis instanceof JedisPooled || jedis instanceof JedisSentineled);
    }

    private static <T> T answered(Supplier<T> command) {
        try {
            return command.get();
        } catch (JedisDataException error) {
            throw new ReplyException(error);
        }
    }
}
