<?php

declare(strict_types=1);

namespace Lockshift;

/** An acquired lock. */
final class Hold
{
    private float $until;
    private ?Lost $lost = null;
    private ?Released $released = null;
    private bool $mayBeFreed = false; // by a release without a reply

    /** @internal */
    public function __construct(private readonly Lock $lock, private readonly string $token, float $since)
    {
        $this->until = $since + $lock->leaseMs * 1e6;
    }

    /** Whether the lock is lost: its lease has ended, another client has it, or an old client has intruded. */
    public function isLost(): bool
    {
        return $this->lost !== null || hrtime(true) >= $this->until;
    }

    /** Seconds until the lease ends. */
    public function remaining(): float
    {
        return max(0.0, ($this->until - hrtime(true)) / 1e9);
    }

    /**
     * Renews the lease from now. A recorded loss is final: a later call throws it again.
     *
     * @throws Lost
     * @throws OutcomeUnknown
     */
    public function extend(): void
    {
        if ($this->lost !== null) {
            throw $this->lost;
        }
        $since = hrtime(true);
        $answer = $this->lock->extend($this->token);
        if ($answer === 1) {
            $this->until = $since + $this->lock->leaseMs * 1e6;
            return;
        }
        $this->lost = $answer === 2
            ? new Lost("an old client has changed {$this->lock->key} while it was held", intruded: true)
            : new Lost("the lock {$this->lock->key} belongs to another client, or has expired");
        throw $this->lost;
    }

    /**
     * Releases the lock. Only what this hold has written is deleted. A second call returns what the first has found.
     * A loss that `extend` has recorded is returned, even if the server freed the lock or no reply arrived.
     *
     * @throws OutcomeUnknown also if an earlier release without a reply may have deleted the lock
     */
    public function release(): Released
    {
        if ($this->released === null) {
            $mayBeFreed = $this->mayBeFreed && !$this->isLost();
            try {
                $answer = $this->lock->release($this->token);
            } catch (\Throwable $error) {
                $this->mayBeFreed = $this->mayBeFreed || !Connection::isErrorReply($error);
                if ($error instanceof OutcomeUnknown && $this->lost !== null) {
                    return $this->lost->intruded ? Released::Intruded : Released::Lost;
                }
                throw $error;
            }
            if ($answer === 0 && $mayBeFreed) {
                throw new OutcomeUnknown("cannot tell whether {$this->lock->key} was lost: an earlier release may have freed it");
            }
            $found = [Released::Lost, Released::Freed, Released::Intruded][$answer];
            if ($this->lost !== null && $found !== Released::Intruded) {
                // An extension writes the old key again: the server no longer sees what it has found then.
                $found = $this->lost->intruded ? Released::Intruded : Released::Lost;
            }
            $this->released = $found;
        }
        return $this->released;
    }
}
