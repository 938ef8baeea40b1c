<?php
// Symfony's lock component, through predis. Its key is a sorted set since 5.2.

require 'Predis/autoload.php';
require 'Symfony/Component/Lock/autoload.php';

use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Lock\Store\RedisStore;

final class Symfony implements Locks
{
    private $factory;
    private $held = [];

    public function __construct($redis)
    {
        $this->factory = new LockFactory(new RedisStore($redis));
    }

    public function version(): string
    {
        return 'symfony/lock 5.4';
    }

    public function acquire(string $dialect, string $key, int $leaseMs): bool
    {
        $lock = $this->factory->createLock($key, $leaseMs / 1000, false);
        $won = $lock->acquire();
        if ($won) {
            $this->held[$key] = $lock;
        }
        return $won;
    }

    public function release(string $key): bool
    {
        $this->held[$key]->release();
        return true;
    }

    public function extend(string $key, int $leaseMs): ?bool
    {
        $this->held[$key]->refresh($leaseMs / 1000);
        return true;
    }
}

function connect(int $port)
{
    return new Predis\Client(['host' => '127.0.0.1', 'port' => $port]);
}

function locks(int $port): Locks
{
    return new Symfony(connect($port));
}
