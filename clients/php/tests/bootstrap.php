<?php
// Loads the package from its source, and predis where it is asked for. With Composer, `vendor/autoload.php` does that.

spl_autoload_register(function (string $class) {
    $file = __DIR__ . '/../src/' . strtr(substr($class, strlen('Lockshift\\')), '\\', '/') . '.php';
    if (str_starts_with($class, 'Lockshift\\') && is_file($file)) {
        require $file;
    }
});
require __DIR__ . '/../src/errors.php';
if (getenv('LOCKSHIFT_TEST_CLIENT') === 'predis' && !class_exists('Predis\\Client')) {
    require 'Predis/Autoloader.php';
    Predis\Autoloader::register();
}
