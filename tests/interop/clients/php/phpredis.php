<?php
// The article's locks through phpredis, the extension.

require __DIR__ . '/article.php';

function connect(int $port)
{
    $redis = new Redis();
    $redis->connect('127.0.0.1', $port);
    return $redis;
}

function locks(int $port): Locks
{
    return new Article(connect($port), 'phpredis ' . phpversion('redis'));
}
