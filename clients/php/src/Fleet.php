<?php

declare(strict_types=1);

namespace Lockshift;

/**
 * The old clients that share a key: the stamp that keeps them out, and how their stamps are judged.
 *
 * Both come from the two tables in `data`, which are generated from lockshift's catalogue of dialects.
 */
final class Fleet
{
    private const FAR_MS = 200 * 366 * 86_400_000; // twice the longest lease
    private const EARLIEST_MS = 1_230_768_000_000; // 2009: no lock is older than Redis
    private const LATEST_MS = 101 * 366 * 86_400_000; // the longest lease, a century, and a wrong clock

    private Shape $stamp;
    private bool $isFar;
    /** @var list<array{Shape, float, bool}> shape, grace in ms, whether a lease is added */
    private array $readers = [];

    /**
     * @param list<string> $names dialects, as `lockshift protocols` lists them
     * @throws NotBridgeable no stamp keeps this fleet out, or its dialects do not exclude each other
     */
    public function __construct(array $names)
    {
        $shapes = self::rows('shapes');
        $dialects = self::rows('dialects');
        $unknown = array_diff($names, array_keys($dialects));
        if ($names === [] || $unknown !== []) {
            throw new NotBridgeable($names === [] ? 'a bridge needs the dialects of the old clients'
                : 'no bridge is known for ' . implode(', ', $unknown));
        }
        // Columns: the shape that it writes, the shape of its bridge's stamp, grace in ms, allowance, the shapes it respects.
        $respected = array_map(fn ($name) => explode(',', $dialects[$name][4]), $names);
        $stamp = null;
        foreach ($names as $name) {
            foreach ($names as $i => $other) {
                if ($name !== $other && !in_array($dialects[$name][0], $respected[$i], true)) {
                    throw new NotBridgeable("$other takes over the locks of $name while they are held");
                }
            }
            $keepsOut = array_filter($respected, fn ($shapes) => in_array($dialects[$name][1], $shapes, true));
            $stamp ??= count($keepsOut) === count($names) ? $dialects[$name][1] : null;
            if ($dialects[$name][3] !== 'never') {
                $shape = new Shape(...$shapes[$dialects[$name][0]]);
                $this->readers[] = [$shape, (float) $dialects[$name][2], $dialects[$name][3] === 'lease'];
            }
        }
        if ($stamp === null) {
            throw new NotBridgeable('no stamp keeps out all of ' . implode(', ', $names));
        }
        $this->stamp = new Shape(...$shapes[$stamp]);
        $this->isFar = str_ends_with($stamp, '-far');
    }

    /** The value that keeps the fleet out for this lease. */
    public function stamp(string $token, int $leaseMs, float $nowMs): string
    {
        return $this->stamp->write($nowMs + $leaseMs + ($this->isFar ? self::FAR_MS : 0), $token);
    }

    /** Whether a value of the old key is an expired lock. A value that no dialect of the fleet writes is live. */
    public function isExpired(string $value, int $leaseMs, float $nowMs): bool
    {
        $ends = [];
        foreach ($this->readers as [$shape, $graceMs, $addsLease]) {
            $moment = $shape->read($value);
            if ($moment !== null && $moment >= self::EARLIEST_MS && $moment <= $nowMs + self::LATEST_MS) {
                // A unit later than the stamp, or a millisecond: a bridge is never earlier than an old client.
                $ends[] = $moment + max($shape->unitMs, 1) + $graceMs + ($addsLease ? $leaseMs : 0);
            }
        }
        return $ends !== [] && max($ends) < $nowMs;
    }

    /** The key beside `$key`, in the same slot of a cluster, that clients of the token lock use: `{invoices}:token`. */
    public static function newKey(string $key): string
    {
        // A hash tag stands between the first brace and the first that closes it: `{}:{42}` has none.
        if (preg_match('/\A[^{]*\{[^}]+\}/', $key)) {
            return "$key:token";
        }
        if ($key === '' || str_contains($key, '}')) {
            throw new \ValueError("cannot derive the new key of '$key': it is empty or has a brace without a hash tag");
        }
        return '{' . $key . '}:token';
    }

    /** @return array<string, list<string>> the rows of a table by their first column */
    private static function rows(string $table): array
    {
        $rows = [];
        foreach (file(__DIR__ . "/../data/$table.tsv", FILE_IGNORE_NEW_LINES) as $line) {
            $columns = explode("\t", $line);
            $rows[$columns[0]] = array_slice($columns, 1);
        }
        return $rows;
    }
}
