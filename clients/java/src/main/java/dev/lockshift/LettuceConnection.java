package dev.lockshift;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SetArgs;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import java.util.Arrays;
import java.util.function.Supplier;

/** Lettuce 6: a connection with the codec {@link ByteArrayCodec#INSTANCE}. It may be shared with other threads. */
public final class LettuceConnection implements Connection {
    private final RedisCommands<byte[], byte[]> commands;
    private final boolean reconnects;

    public LettuceConnection(StatefulRedisConnection<byte[], byte[]> connection) {
        commands = connection.sync();
        reconnects = connection.getOptions().isAutoReconnect();
    }

    @Override
    public Object eval(byte[] script, boolean returnsList, int keys, byte[]... keysAndArguments) {
        ScriptOutputType type = returnsList ? ScriptOutputType.MULTI : ScriptOutputType.INTEGER;
        byte[][] names = Arrays.copyOf(keysAndArguments, keys);
        byte[][] arguments = Arrays.copyOfRange(keysAndArguments, keys, keysAndArguments.length);
        return answered(() -> commands.<Object>eval(script, type, names, arguments));
    }

    @Override
    public boolean setIfMissing(byte[] key, byte[] value, long leaseMs) {
        return answered(() -> commands.set(key, value, SetArgs.Builder.nx().px(leaseMs))) != null;
    }

    @Override
    public byte[] get(byte[] key) {
        return answered(() -> commands.get(key));
    }

    /** A client that reconnects, which is the default, sends again what had no reply. */
    @Override
    public boolean resends() {
        return reconnects;
    }

    private static <T> T answered(Supplier<T> command) {
        try {
            return command.get();
        } catch (RedisCommandExecutionException error) {
            throw new ReplyException(error);
        }
    }
}
