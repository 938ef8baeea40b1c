<?php
// The package of this project, from its source: the same file for phpredis and predis.

use Lockshift\{BridgeLock, Fleet, Lock, Released, TokenLock};

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
        $hold = self::lock($this->redis, $dialect, $key, $leaseMs)->tryAcquire();
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

    private static function lock(object $redis, string $dialect, string $key, int $leaseMs): Lock
    {
        return $dialect === 'token' ? new TokenLock($redis, $key, $leaseMs / 1000)
            : new BridgeLock($redis, $key, $leaseMs / 1000, explode('+', substr($dialect, strlen('bridge:'))));
    }
}

/** What only this package answers: the stamp that it writes, and how it judges a value. Bytes are in hex. */
function package_answer(string $verb, array $args): ?string
{
    switch ($verb) {
        case 'stamp':
            return bin2hex((new Fleet(explode('+', $args[0])))->stamp($args[1], (int) $args[2], (float) $args[3]));
        case 'judge':
            $expired = (new Fleet(explode('+', $args[0])))->isExpired(hex2bin($args[3]), (int) $args[1], (float) $args[2]);
            return $expired ? 'expired' : 'live';
    }
    return null;
}
