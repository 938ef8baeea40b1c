<?php

declare(strict_types=1);

namespace Lockshift;

/** How a number becomes a value, and back. */
final class Shape
{
    public readonly float $unitMs;

    public function __construct(
        private readonly string $template,
        string $unitMs,
        private readonly string $origin,
        private readonly string $pattern,
    ) {
        $this->unitMs = (float) $unitMs;
    }

    /** The first stamp of this shape that is later than this moment by a unit. */
    public function write(float $momentMs, string $token): string
    {
        $number = (int) ceil($momentMs / $this->unitMs) + 1 + (int) $this->origin;
        return strtr($this->template, [
            '{n}' => (string) $number,
            '{be8}' => pack('J', $number),
            '{le8}' => pack('P', $number),
            '{pid}' => (string) getmypid(),
            '{thread}' => '1',
            '{hex}' => $token,
            '{uuid}' => preg_replace('/^(.{8})(.{4})(.{4})(.{4})(.{12})$/', '$1-$2-$3-$4-$5', $token),
        ]);
    }

    /** The moment in a value, in milliseconds since 1970; `null` if it has another shape. */
    public function read(string $value): ?float
    {
        if ($this->pattern === '-' || !preg_match("\x01^(?:{$this->pattern})\\z\x01", $value, $match)) {
            return null;
        }
        $number = match (true) {
            str_contains($this->template, '{be8}') => unpack('J', $match[1])[1],
            str_contains($this->template, '{le8}') => unpack('P', $match[1])[1],
            default => $match[1] + 0,
        };
        return ($number - (int) $this->origin) * $this->unitMs;
    }
}
