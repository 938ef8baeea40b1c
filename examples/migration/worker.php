<?php
// A PHP worker of the old fleet: the lock as the PHP article has it, and the witness of this example.
// php worker.php HOST PORT KEY LEASE_SECONDS NUMBER

[, $host, $port, $key, $lease, $number] = $argv;
$lease = (int) $lease;
$redis = new Redis();
$redis->connect($host, (int) $port);
$witness = new Redis();
$witness->connect($host, (int) $port);
stream_set_blocking(STDIN, false);

function isOver(): bool
{
    fread(STDIN, 1);
    return feof(STDIN);
}

$wanted = hrtime(true);
while (!isOver()) {
    $began = hrtime(true);
    $value = time() + $lease;
    $won = $redis->setnx($key, $value);
    if (!$won && $redis->get($key) < time() && $redis->getSet($key, $value) < time()) {
        $won = true;
    }
    if (!$won) {
        usleep(random_int(5000, 40000));
        continue;
    }
    $redis->expire($key, $lease);
    $waited = intdiv(hrtime(true) - $wanted, 1000000);

    $inside = $witness->incr("$key:inside");
    $done = (int) $witness->get("$key:work");
    usleep(3000);
    $witness->set("$key:work", $done + 1);
    $witness->decr("$key:inside");

    // A stamp in whole seconds may be over up to a second early.
    $late = hrtime(true) - $began > ($lease - 1) * 1000000000;
    if ($redis->ttl($key)) {
        $redis->del($key);
    }
    $witness->rPush('example:news', "$number $waited" . ($inside > 1 ? ' double' : '') . ($late ? ' late' : ''));
    usleep(random_int(0, 6000));
    $wanted = hrtime(true);
}
