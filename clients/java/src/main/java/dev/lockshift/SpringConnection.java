package dev.lockshift;

import java.util.function.Function;
import org.springframework.data.redis.RedisSystemException;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisStringCommands.SetOption;
import org.springframework.data.redis.connection.ReturnType;
import org.springframework.data.redis.core.types.Expiration;

/** Spring Data Redis 2 and later, over Jedis or Lettuce. Serializers of a template do not matter here. */
public final class SpringConnection implements Connection {
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

    private <T> T answered(Function<RedisConnection, T> command) {
        RedisConnection redis = factory.getConnection();
        try {
            return command.apply(redis);
        } catch (RedisSystemException | org.springframework.dao.InvalidDataAccessApiUsageException error) {
            throw new ReplyException(error);
        } finally {
            redis.close();
        }
    }
}
