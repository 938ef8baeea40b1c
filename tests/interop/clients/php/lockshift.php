<?php
// The package of this project, from its source: the same file for phpredis and predis.

use Lockshift\{BridgeLock, Fleet, Hold, Lock, Lost, NotAcquired, Released, TokenLock};

spl_autoload_register(function (string $class) {
    $file = __DIR__ . '/../../../../clients/php/src/' . strtr(substr($class, strlen('Lockshift\\')), '\\', '/') . '.php';
    if (str_starts_with($class, 'Lockshift\\') && is_file($file)) {
        require $file;
    }
});
require __DIR__ . '/../../../../clients/php/src/errors.php';

final class Package implements Locks
{
    private array $held = [];

    public function __construct(private object $redis, private string $version)
    {
    }

    public function version(): string
    {
        return "lockshift on $this->version";
    }

    public function acquire(string $dialect, string $key, int $leaseMs): bool
    {
        $hold = self::lockOf($this->redis, $dialect, $key, $leaseMs)->tryAcquire();
        if ($hold) {
            $this->held[$key] = $hold;
        }
        return $hold !== null;
    }

    public function release(string $key): bool
    {
        return $this->held[$key]->release() === Released::Freed;
    }

    public function extend(string $key, int $leaseMs): ?bool
    {
        $this->held[$key]->extend();
        return true;
    }

    public function lock(string $dialect, string $key, int $leaseMs, float $patience): string
    {
        try {
            $this->held[$key] = self::lockOf($this->redis, $dialect, $key, $leaseMs)->acquire($patience);
        } catch (NotAcquired) {
            return 'held';
        }
        return 'won';
    }

    /** PHP has no thread to renew from: the work does, between its steps. */
    public function hold(string $dialect, string $key, int $leaseMs, string $until): string
    {
        try {
            self::lockOf($this->redis, $dialect, $key, $leaseMs)->with(60, function (Hold $hold) use ($until) {
                while (!$this->redis->exists($until)) {
                    $hold->extend();
                    usleep(20000);
                }
            });
        } catch (Lost $lost) {
            return $lost->intruded ? 'intruded' : 'lost';
        }
        return 'done';
    }

    private static function lockOf(object $redis, string $dialect, string $key, int $leaseMs): Lock
    {
        return $dialect === 'token' ? new TokenLock($redis, $key, $leaseMs / 1000)
            : new BridgeLock($redis, $key, $leaseMs / 1000, explode('+', substr($dialect, strlen('bridge:'))));
    }
}

/** What only this package answers: waiting, the scoped form, the stamp that it writes, how it judges a value. Bytes are in hex. */
function package_answer(Package $locks, string $verb, array $args): ?string
{
    switch ($verb) {
        case 'lock':
            return $locks->lock($args[0], $args[1], (int) $args[2], $args[3] / 1000);
        case 'hold':
            return $locks->hold($args[0], $args[1], (int) $args[2], $args[3]);
        case 'stamp':
            return bin2hex((new Fleet(explode('+', $args[0])))->stamp($args[1], (int) $args[2], (float) $args[3]));
        case 'judge':
            $expired = (new Fleet(explode('+', $args[0])))->isExpired(hex2bin($args[3]), (int) $args[1], (float) $args[2]);
            return $expired ? 'expired' : 'live';
    }
    return null;
}
