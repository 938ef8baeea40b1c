<?php
// The bridge and the token lock of `clients/php`, with the methods of the locks in locks.php. PHP 8.1, phpredis.

spl_autoload_register(function (string $class) {
    $file = __DIR__ . '/../../clients/php/src/' . strtr(substr($class, strlen('Lockshift\\')), '\\', '/') . '.php';
    if (str_starts_with($class, 'Lockshift\\') && is_file($file)) {
        require $file;
    }
});
require __DIR__ . '/../../clients/php/src/errors.php';

use Lockshift\{Fleet, Hold, Lock, Released};

final class PackageLock
{
    private ?Hold $hold = null;

    private function __construct(private Lock $lock)
    {
    }

    public static function bridge(Redis $redis, string $key, int $lease): self
    {
        return new self(new Lockshift\BridgeLock($redis, $key, $lease, ['php-getset']));
    }

    public static function token(Redis $redis, string $key, int $lease): self
    {
        return new self(new Lockshift\TokenLock($redis, Fleet::newKey($key), $lease));
    }

    public function acquire(): bool
    {
        $this->hold = $this->lock->tryAcquire();
        return $this->hold !== null;
    }

    public function release(): string
    {
        return match ($this->hold->release()) {
            Released::Freed => 'freed',
            Released::Lost => 'lost',
            Released::Intruded => 'intruded',
        };
    }
}
