<?php

declare(strict_types=1);

namespace Lockshift;

/** No stamp keeps this fleet out, or its dialects do not exclude each other. */
final class NotBridgeable extends \InvalidArgumentException
{
}

/** The lock was held by another client until the timeout. */
final class NotAcquired extends \RuntimeException
{
}

/**
 * The connection broke after a command that the server may have run. After an attempt, the lock has been released again as
 * far as the server could be reached; otherwise it expires. After a release, the lock was freed or lost, or is still held until
 * its lease ends.
 */
final class OutcomeUnknown extends \RuntimeException
{
}

/**
 * An error reply through phpredis.
 *
 * @internal callers catch `\RuntimeException`
 */
final class ErrorReply extends \RuntimeException
{
}

/** The lock was not held to the end. */
final class Lost extends \RuntimeException
{
    /** @param bool $intruded whether an old client has overwritten or deleted the bridge's stamp */
    public function __construct(string $message, public readonly bool $intruded = false)
    {
        parent::__construct($message);
    }
}

/** What a release has found. */
enum Released: string
{
    case Freed = 'freed';
    /** The lease had ended: another client may have held the lock meanwhile. */
    case Lost = 'lost';
    /** An old client has changed the old key while the lock was held. */
    case Intruded = 'intruded';
}
