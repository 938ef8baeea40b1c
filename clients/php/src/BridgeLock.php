<?php

declare(strict_types=1);

namespace Lockshift;

/** One lock of both generations: a stamp in `$key` for the old clients of these dialects, a token in its new key. */
final class BridgeLock extends Lock
{
    private readonly Fleet $fleet;
    /** @var array{string, string} the new key and the old one */
    private readonly array $keys;

    /**
     * @param list<string> $dialects as `lockshift protocols` lists them
     * @throws NotBridgeable
     */
    public function __construct(object $redis, string $key, float $lease, array $dialects)
    {
        parent::__construct($redis, $key, $lease);
        $this->fleet = new Fleet($dialects);
        $this->keys = [Fleet::newKey($key), $key];
    }

    protected function attempt(string $token): bool
    {
        $answer = $this->bid($token);
        if ($answer[0] === 2 && $this->fleet->isExpired($answer[1], $this->leaseMs, microtime(true) * 1000)) {
            // Replaces exactly the value that was judged.
            $answer = $this->bid($token, $answer[1]);
        }
        return $answer[0] === 1;
    }

    private function bid(string $token, string ...$expired): array
    {
        return $this->script('bridge-acquire', $this->keys, [$token, $this->leaseMs, $this->stamp($token), ...$expired]);
    }

    public function extend(string $token): int
    {
        return $this->settle('bridge-extend', $this->keys, [$token, $this->leaseMs, $this->stamp($token)]);
    }

    public function release(string $token): int
    {
        return $this->settle('bridge-release', $this->keys, [$token]);
    }

    private function stamp(string $token): string
    {
        return $this->fleet->stamp($token, $this->leaseMs, microtime(true) * 1000);
    }
}
