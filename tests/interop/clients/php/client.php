<?php
// A foreign client in PHP, on standard input and output: `php client.php LIBRARY PORT`. What it is asked and what it
// answers is described in tests/interop/foreign.rs. PHP 7.4 and 8.

declare(strict_types=0); // as the code of the article's time

/** Locks of one community; each says by itself which dialects it speaks. */
interface Locks
{
    /** What the library calls itself, and its version. */
    public function version(): string;

    /** One try. */
    public function acquire(string $dialect, string $key, int $leaseMs): bool;

    /** What the library answers. */
    public function release(string $key): bool;

    /** Whether the lock is held on; `null` if the library has no such thing. */
    public function extend(string $key, int $leaseMs): ?bool;
}

/** The contended cycles of one worker, watched by a counter on a connection that the locks do not know. */
function work(Locks $locks, array $args): string
{
    global $argv;
    [$dialect, $key, $witness, $cycles, $holdMs, $leaseMs] = $args;
    $counter = connect((int) $argv[2]);
    $doubles = $overruns = 0;
    for ($done = 0; $done < (int) $cycles; usleep(mt_rand(500, 2500))) {
        $began = hrtime(true);
        if (!$locks->acquire($dialect, $key, (int) $leaseMs)) {
            continue;
        }
        $doubles += $counter->incr($witness) > 1 ? 1 : 0;
        usleep((int) $holdMs * 1000);
        $counter->decr($witness);
        $overruns += hrtime(true) - $began > $leaseMs * 1e6 ? 1 : 0;
        $locks->release($key);
        $done++;
    }
    return "worked $done $doubles $overruns";
}

function answer(Locks $locks, string $verb, array $args): string
{
    switch ($verb) {
        case 'version':
            return $locks->version() . ', PHP ' . PHP_MAJOR_VERSION . '.' . PHP_MINOR_VERSION;
        case 'acquire':
            return $locks->acquire($args[0], $args[1], (int) $args[2]) ? 'won' : 'held';
        case 'release':
            return $locks->release($args[0]) ? 'released' : 'refused';
        case 'extend':
            $extended = $locks->extend($args[0], (int) $args[1]);
            return $extended === null ? 'unspoken' : ($extended ? 'extended' : 'lost');
        case 'work':
            return work($locks, $args);
        case 'crash':
            // Ends at once: no destructor, no shutdown function.
            posix_kill(getmypid(), 9);
    }
    if (function_exists('package_answer') && ($answer = package_answer($locks, $verb, $args)) !== null) {
        return $answer;
    }
    return "failed no such question: $verb";
}

require __DIR__ . '/' . $argv[1] . '.php';

$locks = locks((int) $argv[2]);
while (($line = fgets(STDIN)) !== false) {
    $words = explode(' ', rtrim($line, "\n"));
    [$session, $verb] = $words;
    try {
        $answer = answer($locks, $verb, array_slice($words, 2));
    } catch (Throwable $error) {
        $answer = 'failed ' . strtr(get_class($error) . ': ' . $error->getMessage(), "\n", ' ');
    }
    fwrite(STDOUT, "$session $answer\n");
}
