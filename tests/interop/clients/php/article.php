<?php
// The three locks of the PHP article, written anew from its description: section 4, section 5 and the complete code.
// `$redis` is phpredis or predis: what they return for a missing key differs, and the comparisons are PHP's own.

final class Article implements Locks
{
    private $redis;
    private $version;
    /** The dialect in which each key is held. */
    private $held = [];

    public function __construct($redis, string $version)
    {
        $this->redis = $redis;
        $this->version = $version;
    }

    public function version(): string
    {
        return $this->version;
    }

    public function acquire(string $dialect, string $key, int $leaseMs): bool
    {
        $lease = intdiv($leaseMs, 1000);
        switch ($dialect) {
            case 'php-setnx':
                $won = $this->bySetnx($key, $lease);
                break;
            case 'php-del-takeover':
            case 'php7-del-takeover':
            case 'predis-del-takeover':
            case 'predis7-del-takeover':
                $won = $this->byDel($key, $lease);
                break;
            case 'php-getset':
            case 'php7-getset':
            case 'predis-getset':
            case 'predis7-getset':
                $won = $this->byGetset($key, $lease);
                break;
            default:
                throw new LogicException("no such dialect: $dialect");
        }
        if ($won) {
            $this->held[$key] = $dialect;
        }
        return $won;
    }

    /** Section 4: the client that sets the key has the lock. */
    private function bySetnx(string $key, int $lease): bool
    {
        return !empty($this->redis->setnx($key, time() + $lease));
    }

    /** Section 5: an expired lock is deleted and the loop goes round, with the value that it has just read. A try has
     * ended when the loop meets a lock that is not expired; the article's would go on at once. */
    private function byDel(string $key, int $lease): bool
    {
        $value = time() + $lease;
        for (;;) {
            if (!empty($this->redis->setnx($key, $value))) {
                return true;
            }
            $value = $this->redis->get($key);
            if (!($value < time())) {
                return false;
            }
            $this->redis->del($key);
        }
    }

    /** The complete code, without its sleep of two seconds. */
    private function byGetset(string $key, int $lease): bool
    {
        $value = time() + $lease;
        $lock = $this->redis->setnx($key, $value);
        if (!empty($lock) || ($this->redis->get($key) < time() && $this->redis->getSet($key, $value) < time())) {
            $this->redis->expire($key, $lease);
            return true;
        }
        return false;
    }

    public function release(string $key): bool
    {
        $dialect = $this->held[$key];
        unset($this->held[$key]);
        // The complete code leaves a lock alone whose TTL has ended. -1 and -2 are true as well.
        $asks = substr($dialect, -strlen('getset')) === 'getset';
        return (!$asks || $this->redis->ttl($key)) && $this->redis->del($key) > 0;
    }

    public function extend(string $key, int $leaseMs): ?bool
    {
        return null;
    }
}
