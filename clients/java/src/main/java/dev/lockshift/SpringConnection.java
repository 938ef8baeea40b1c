package dev.lockshift;

import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import org.springframework.dao.InvalidDataAccessApiUsageException;
import org.springframework.data.redis.RedisSystemException;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisStringCommands.SetOption;
import org.springframework.data.redis.connection.ReturnType;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import org.springframework.data.redis.core.types.Expiration;

/** Spring Data Redis 2 and later, over Jedis or Lettuce. Serializers of a template do not matter here. */
public final class SpringConnection implements Connection {
    /** By name: there may be only one of the two clients. */
    private static final List<String> ERROR_REPLIES = Arrays.asList(
            "io.lettuce.core.RedisCommandExecutionException", "redis.clients.jedis.exceptions.JedisDataException");

    private final RedisConnectionFactory factory;

    public SpringConnection(RedisConnectionFactory factory) {
        this.factory = factory;
    }

    @Override
    public Object eval(byte[] script, boolean returnsList, int keys, byte[]... keysAndArguments) {
        ReturnType type = returnsList ? ReturnType.MULTI : ReturnType.INTEGER;
        return answered(redis -> redis.scriptingCommands().<Object>eval(script, type, keys, keysAndArguments));
    }

    @Override
    public boolean setIfMissing(byte[] key, byte[] value, long leaseMs) {
        Expiration expiration = Expiration.milliseconds(leaseMs);
        return Boolean.TRUE.equals(
                answered(redis -> redis.stringCommands().set(key, value, expiration, SetOption.SET_IF_ABSENT)));
    }

    @Override
    public byte[] get(byte[] key) {
        return answered(redis -> redis.stringCommands().get(key));
    }

    /** Lettuce does, and Jedis on a cluster. */
    @Override
    public boolean resends() {
        return !(factory instanceof JedisConnectionFactory) || ((JedisConnectionFactory) factory).isRedisClusterAware();
    }

    private <T> T answered(Function<RedisConnection, T> command) {
        RedisConnection redis = factory.getConnection();
        try {
            return command.apply(redis);
        } catch (RedisSystemException | InvalidDataAccessApiUsageException error) {
            // Spring throws them for an interrupt and a dropped connection too.
            throw isErrorReply(error.getCause()) ? new ReplyException(error) : error;
        } finally {
            redis.close();
        }
    }

    private static boolean isErrorReply(Throwable cause) {
        for (Class<?> type = cause == null ? null : cause.getClass(); type != null; type = type.getSuperclass()) {
            if (ERROR_REPLIES.contains(type.getName())) {
                return true;
            }
        }
        return false;
    }
}
