<?php
// A worker written in PHP: acquires the lock in its role, does its piece of work, counted by the witness, releases the lock,
// and starts again until its standard input ends.
// php worker.php HOST PORT old|bridge|modern own|package KEY LEASE_SECONDS NUMBER

require __DIR__ . '/locks.php';
require __DIR__ . '/package.php';

[, $host, $port, $role, $code, $key, $lease, $number] = $argv;
$connect = function () use ($host, $port): Redis {
    $redis = new Redis();
    $redis->connect($host, (int) $port);
    return $redis;
};
$of = [$connect(), $key, (int) $lease];
$lock = match ("$role $code") {
    'old own' => new OldLock(...$of),
    'bridge own' => new BridgeLock(...$of),
    'modern own' => new TokenLock(...$of),
    'bridge package' => PackageLock::bridge(...$of),
    'modern package' => PackageLock::token(...$of),
};
$witness = $connect();
stream_set_blocking(STDIN, false);

$wanted = hrtime(true);
while (fread(STDIN, 1) !== false && !feof(STDIN)) {
    $began = hrtime(true);
    if (!$lock->acquire()) {
        usleep(random_int(5000, 40000));
        continue;
    }
    $report = "$number " . intdiv(hrtime(true) - $wanted, 1000000);

    $report .= $witness->incr("$key:inside") > 1 ? ' double' : '';
    $done = (int) $witness->get("$key:work");
    usleep(3000);
    $witness->set("$key:work", $done + 1);
    $witness->decr("$key:inside");

    // A stamp in whole seconds may expire up to a second early.
    $report .= hrtime(true) - $began > ($lease - 1) * 1000000000 ? ' late' : '';
    $report .= $lock->release() === 'intruded' ? ' intruded' : '';
    $witness->rPush('example:holds', $report);
    usleep(random_int(0, 6000));
    $wanted = hrtime(true);
}
