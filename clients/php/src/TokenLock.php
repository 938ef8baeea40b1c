<?php

declare(strict_types=1);

namespace Lockshift;

/**
 * The modern lock on one key: `SET key token NX PX lease`, released and extended by its token only. Beside bridges, the key
 * is `Fleet::newKey('invoices')`.
 */
final class TokenLock extends Lock
{
    protected function attempt(string $token): bool
    {
        return $this->setIfMissing($token);
    }

    public function extend(string $token): int
    {
        return $this->settle('token-extend', [$this->key], [$token, $this->leaseMs]);
    }

    public function release(string $token): int
    {
        return $this->settle('token-release', [$this->key], [$token]);
    }
}
