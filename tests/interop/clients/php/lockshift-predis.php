<?php
// This project's package through predis.

require 'Predis/Autoloader.php';
require __DIR__ . '/lockshift.php';

Predis\Autoloader::register();

function connect(int $port)
{
    return new Predis\Client(['host' => '127.0.0.1', 'port' => $port]);
}

function locks(int $port): Locks
{
    return new Package(connect($port), 'predis ' . Predis\Client::VERSION);
}
