<?php
// This project's package through phpredis.

require __DIR__ . '/lockshift.php';

function connect(int $port)
{
    $redis = new Redis();
    $redis->connect('127.0.0.1', $port);
    return $redis;
}

function locks(int $port): Locks
{
    return new Package(connect($port), 'phpredis ' . phpversion('redis'));
}
