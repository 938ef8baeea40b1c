<?php
// The article's locks through predis, which is all PHP.

require 'Predis/Autoloader.php';
require __DIR__ . '/article.php';

Predis\Autoloader::register();

function connect(int $port)
{
    return new Predis\Client(['host' => '127.0.0.1', 'port' => $port]);
}

function locks(int $port): Locks
{
    return new Article(connect($port), 'predis ' . Predis\Client::VERSION);
}
