<?php

// Two users of locks, one after the other, with one client of a PHP program, which runs one request at a time: see
// `run`.

declare(strict_types=1);

[, $which, $port] = $argv;
if ($which === 'phpredis') {
    $client = new Redis();
    $client->connect('127.0.0.1', (int) $port);
} else {
    require 'Predis/Autoloader.php';
    Predis\Autoloader::register();
    $client = new Predis\Client(['port' => (int) $port]);
}
$client->setnx('lock:a', '1');
$client->setnx('lock:b', '1');
$client->del('lock:a');
$client->del('lock:b');
