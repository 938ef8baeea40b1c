<?php

declare(strict_types=1);

namespace Lockshift;

use Predis\PredisException;
use Predis\Response\ErrorInterface;
use Predis\Response\ServerException;

/**
 * What the two Redis clients of PHP do differently. Errors of the connection become `OutcomeUnknown`. Error replies are thrown
 * as `\RuntimeException` with phpredis and as `ServerException` with predis, also where the client returns them.
 *
 * @internal
 */
final class Connection
{
    /** @throws \InvalidArgumentException the client has a prefix */
    public function __construct(private readonly object $redis)
    {
        if (!$redis instanceof \Redis && !$redis instanceof \RedisCluster && !$redis instanceof \Predis\ClientInterface) {
            throw new \TypeError('expected Redis or RedisCluster of phpredis, or a client of predis; got ' . $redis::class);
        }
        try {
            $this->refusePrefix();
        } catch (\RedisException) {
            // phpredis has no options before it is connected: each command checks again.
        }
    }

    public function script(string $text, array $keys, array $arguments): mixed
    {
        return $this->isPredis() ? $this->send('eval', $text, count($keys), ...$keys, ...$arguments)
            : $this->send('eval', $text, [...$keys, ...$arguments], count($keys));
    }

    public function setIfMissing(string $key, string $token, int $leaseMs): bool
    {
        $won = $this->isPredis() ? (string) $this->send('set', $key, $token, 'PX', $leaseMs, 'NX') === 'OK'
            : $this->send('set', $key, $token, ['nx', 'px' => $leaseMs]) === true;
        // A Redis client that sends a command again after it reconnected finds the token of its own first run.
        try {
            return $won || $this->send('get', $key) === $token;
        } catch (\Exception $error) {
            return self::isOfAnotherType($error) ? false : throw $error;
        }
    }

    /** Whether the server has refused the command: it has not run. */
    public static function isErrorReply(\Throwable $error): bool
    {
        return $error instanceof ErrorReply || $error instanceof ServerException;
    }

    /** Whether the key holds no string. In a script, servers before 7.0 put words of their own before the error. */
    public static function isOfAnotherType(\Throwable $error): bool
    {
        return self::isErrorReply($error) && str_contains($error->getMessage(), 'WRONGTYPE');
    }

    private function isPredis(): bool
    {
        return $this->redis instanceof \Predis\ClientInterface;
    }

    private function send(string $command, mixed ...$arguments): mixed
    {
        try {
            return $this->isPredis() ? $this->sendByPredis($command, $arguments) : $this->sendByPhpredis($command, $arguments);
        } catch (\RedisException | \RedisClusterException | \Predis\Connection\ConnectionException $error) {
            throw new OutcomeUnknown("the connection broke: {$error->getMessage()}", previous: $error);
        }
    }

    private function sendByPredis(string $command, array $arguments): mixed
    {
        try {
            $reply = $this->redis->$command(...$arguments);
        } catch (PredisException $error) {
            throw $error;
        } catch (\Throwable $error) {
            // From a signal handler: the reply may still arrive, and the next command would read it.
            $this->redis->disconnect();
            throw $error;
        }
        if ($reply instanceof ErrorInterface) {
            throw new ServerException($reply->getMessage());
        }
        if ($reply instanceof \Predis\Response\Status && (string) $reply === 'QUEUED') {
            throw new \LogicException('the Redis client is in multi() and has queued the command: discard() the transaction, '
                . 'do not exec() it, because a queued SET would make a lock without an owner; then pass a client of its own');
        }
        return $reply;
    }

    private function sendByPhpredis(string $command, array $arguments): mixed
    {
        $this->refusePrefix();
        if ($this->redis->getMode() !== \Redis::ATOMIC) {
            throw new \LogicException('the Redis client is in multi() or pipeline(): end it first, or pass a client of its own');
        }
        // The options would change what SET stores, and the scripts would not find the token again.
        $configured = [];
        $thrown = null;
        try {
            // A signal handler may throw at any step.
            foreach ([\Redis::OPT_SERIALIZER, \Redis::OPT_COMPRESSION] as $option) {
                $configured[$option] = $this->redis->getOption($option);
                $this->redis->setOption($option, 0);
            }
            $this->redis->clearLastError();
            $reply = $this->redis->$command(...$arguments);
        } catch (\RedisException | \RedisClusterException $thrown) {
        } finally {
            foreach ($configured as $option => $value) {
                $this->redis->setOption($option, $value);
            }
        }
        // Some error replies are thrown and some are not; a failed connection is a last error too, but without a code like OOM.
        $error = (string) $this->redis->getLastError();
        $this->redis->clearLastError();
        if (preg_match('/\A[A-Z]+ /', $error)) {
            throw new ErrorReply($error, previous: $thrown);
        }
        if ($thrown !== null || $error !== '') {
            throw $thrown ?? new \RedisException($error);
        }
        return $reply;
    }

    private function refusePrefix(): void
    {
        $prefix = $this->isPredis() ? $this->redis->getOptions()->prefix : $this->redis->getOption(\Redis::OPT_PREFIX);
        if ($prefix instanceof \Predis\Command\Processor\KeyPrefixProcessor) {
            $prefix = $prefix->getPrefix();
        }
        if (!in_array($prefix, [null, false, ''], true)) {
            // The new key would be `app:{invoices}:token`, and `{app:invoices}:token` for clients without a prefix.
            throw new \InvalidArgumentException('the Redis client has a prefix: pass a client without a prefix, and the whole key');
        }
    }
}
