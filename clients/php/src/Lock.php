<?php

declare(strict_types=1);

namespace Lockshift;

/** What both locks share: attempts, waiting, and the scoped form. */
abstract class Lock
{
    private const LONGEST_LEASE = 100 * 365 * 86_400; // a century, in seconds

    public readonly int $leaseMs;
    private readonly Connection $connection;

    /**
     * @param \Redis|\RedisCluster|\Predis\ClientInterface $redis
     * @param float $lease in seconds, from a millisecond to a century
     * @throws \InvalidArgumentException the lease is out of this range, or the client has a prefix
     */
    public function __construct(object $redis, public readonly string $key, float $lease)
    {
        // Not the other way round: no comparison with NAN is true.
        if (!($lease >= 0.001 && $lease <= self::LONGEST_LEASE)) {
            throw new \InvalidArgumentException("a lease is from a millisecond to a century long, in seconds; got $lease");
        }
        $this->leaseMs = (int) round($lease * 1000);
        $this->connection = new Connection($redis);
    }

    /** One attempt: a hold, or `null` if another client holds the lock. */
    public function tryAcquire(): ?Hold
    {
        $token = bin2hex(random_bytes(16));
        $since = hrtime(true);
        try {
            return $this->attempt($token) ? new Hold($this, $token, $since) : null;
        } catch (\Throwable $error) {
            if (!Connection::isErrorReply($error)) {
                // It may have run, also if a signal handler has thrown: released again, as far as the server can be reached.
                try {
                    $this->release($token);
                } catch (\Throwable) {
                }
            }
            throw $error;
        }
    }

    /**
     * Attempts for up to `$timeout` seconds, or for ever if it is `INF`.
     *
     * @throws \InvalidArgumentException the timeout is `NAN`
     * @throws NotAcquired the lock was held by another client for that long
     */
    public function acquire(float $timeout): Hold
    {
        if (is_nan($timeout)) {
            throw new \InvalidArgumentException('a timeout is a number of seconds, not NAN');
        }
        $deadline = hrtime(true) + $timeout * 1e9;
        for ($pauseMs = 10.0;; $pauseMs = min(2 * $pauseMs, 500.0)) {
            try {
                if ($hold = $this->tryAcquire()) {
                    return $hold;
                }
            } catch (OutcomeUnknown $error) {
                if (hrtime(true) >= $deadline) {
                    throw $error;
                }
            }
            $leftMs = ($deadline - hrtime(true)) / 1e6;
            if ($leftMs <= 0) {
                throw new NotAcquired("$this->key was held by another client for " . max(0, $timeout) . ' s');
            }
            usleep((int) (1000 * min($leftMs, $pauseMs * random_int(50, 100) / 100)));
        }
    }

    /**
     * Acquires, calls `$work` with the hold, and releases. PHP has no thread to renew from: `$work` calls
     * `$hold->extend()` between its steps if it may outlast the lease.
     *
     * @template T
     * @param callable(Hold): T $work
     * @return T
     * @throws Lost at the end, if the lock was lost meanwhile
     */
    public function with(float $timeout, callable $work): mixed
    {
        $hold = $this->acquire($timeout);
        try {
            $result = $work($hold);
        } catch (\Throwable $error) {
            // The error of the work is the one to report.
            try {
                $hold->release();
            } catch (\Throwable) {
            }
            throw $error;
        }
        $released = $hold->release();
        if ($released !== Released::Freed) {
            throw new Lost("$this->key was lost before its release", $released === Released::Intruded);
        }
        return $result;
    }

    /** @internal whether this attempt has won */
    abstract protected function attempt(string $token): bool;

    /** @internal 1 extended, 2 extended and intruded, 0 lost */
    abstract public function extend(string $token): int;

    /** @internal 1 freed, 2 freed and intruded, 0 lost */
    abstract public function release(string $token): int;

    /** Runs one of the scripts in `data`. */
    protected function script(string $name, array $keys, array $arguments): mixed
    {
        return $this->connection->script(file_get_contents(__DIR__ . "/../data/$name.lua"), $keys, $arguments);
    }

    /** Runs a script of a hold. A key of another type is another client's: the lock is lost. */
    protected function settle(string $name, array $keys, array $arguments): int
    {
        try {
            return $this->script($name, $keys, $arguments);
        } catch (\Exception $error) {
            return Connection::isOfAnotherType($error) ? 0 : throw $error;
        }
    }

    /** Sends SET NX PX, and GET where it was refused. */
    protected function setIfMissing(string $token): bool
    {
        return $this->connection->setIfMissing($this->key, $token, $this->leaseMs);
    }
}
