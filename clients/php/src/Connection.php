<?php

declare(strict_types=1);

namespace Lockshift;

/**
 * What the two Redis clients of PHP do differently. Errors of the connection become `OutcomeUnknown`, replies that are
 * errors stay what they are.
 *
 * @internal
 */
final class Connection
{
    public function __construct(private readonly object $redis)
    {
        if (!$redis instanceof \Redis && !$redis instanceof \RedisCluster && !$redis instanceof \Predis\ClientInterface) {
            throw new \TypeError('expected Redis or RedisCluster of phpredis, or a client of predis; got ' . $redis::class);
        }
    }

    public function script(string $text, array $keys, array $arguments): mixed
    {
        return $this->guarded(function () use ($text, $keys, $arguments) {
            if ($this->redis instanceof \Predis\ClientInterface) {
                return $this->redis->eval($text, count($keys), ...$keys, ...$arguments);
            }
            $this->redis->clearLastError();
            $reply = $this->redis->eval($text, [...$keys, ...$arguments], count($keys));
            $error = $this->redis->getLastError();
            if ($error !== null) {
                $this->redis->clearLastError();
                throw new \RuntimeException($error);
            }
            return $reply;
        });
    }

    public function setIfMissing(string $key, string $token, int $leaseMs): bool
    {
        return $this->guarded(function () use ($key, $token, $leaseMs) {
            $won = $this->redis instanceof \Predis\ClientInterface
                ? $this->redis->set($key, $token, 'PX', $leaseMs, 'NX') !== null
                : $this->redis->set($key, $token, ['nx', 'px' => $leaseMs]);
            // A Redis client that sends a command again after it reconnected finds the token of its own first run.
            return $won || $this->redis->get($key) === $token;
        });
    }

    private function guarded(callable $send): mixed
    {
        try {
            return $send();
        } catch (\RedisException | \RedisClusterException | \Predis\Connection\ConnectionException $error) {
            throw new OutcomeUnknown("the connection broke: {$error->getMessage()}", previous: $error);
        }
    }
}
