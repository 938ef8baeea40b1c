<?php
// Laravel's cache lock, through phpredis.

require 'Illuminate/Cache/autoload.php';
require 'Illuminate/Redis/autoload.php';

use Illuminate\Cache\PhpRedisLock;
use Illuminate\Redis\Connections\PhpRedisConnection;

final class Laravel implements Locks
{
    private $connection;
    private $held = [];

    public function __construct(Redis $redis)
    {
        $this->connection = new PhpRedisConnection($redis);
    }

    public function version(): string
    {
        return 'illuminate/cache 8';
    }

    public function acquire(string $dialect, string $key, int $leaseMs): bool
    {
        $lock = new PhpRedisLock($this->connection, $key, intdiv($leaseMs, 1000));
        $won = $lock->get();
        if ($won) {
            $this->held[$key] = $lock;
        }
        return $won;
    }

    public function release(string $key): bool
    {
        return $this->held[$key]->release();
    }

    public function extend(string $key, int $leaseMs): ?bool
    {
        return null;
    }
}

function connect(int $port)
{
    $redis = new Redis();
    $redis->connect('127.0.0.1', $port);
    return $redis;
}

function locks(int $port): Locks
{
    return new Laravel(connect($port));
}
