<?php
// The three locks of a PHP service during the migration: the old lock, the bridge, and the token lock. PHP 8, phpredis.

/** The lock of the PHP article: the value is the time at which it expires. */
final class OldLock
{
    public function __construct(private Redis $redis, private string $key, private int $lease)
    {
    }

    public function acquire(): bool
    {
        $value = time() + $this->lease;
        $won = $this->redis->setnx($this->key, $value)
            || ($this->redis->get($this->key) < time() && $this->redis->getSet($this->key, $value) < time());
        if ($won) {
            $this->redis->expire($this->key, $this->lease);
        }
        return $won;
    }

    public function release(): string
    {
        return $this->redis->ttl($this->key) && $this->redis->del($this->key) ? 'freed' : 'lost';
    }
}

/** Both locks at once: a stamp in the old key, a token in the new one. */
final class BridgeLock
{
    private string $token;

    public function __construct(private Redis $redis, private string $key, private int $lease)
    {
    }

    public function acquire(): bool
    {
        $this->token = bin2hex(random_bytes(16));
        $answer = $this->bid();
        // The value of the old key is judged as the old clients judge it, and bid for again if it has expired.
        if ($answer[0] === 2 && $answer[1] < time()) {
            $answer = $this->bid($answer[1]);
        }
        return $answer[0] === 1;
    }

    public function release(): string
    {
        return ['lost', 'freed', 'intruded'][$this->run('release', [$this->token])];
    }

    private function bid(string ...$over): array
    {
        return $this->run('acquire', [$this->token, 1000 * $this->lease, '0' . (time() + $this->lease), ...$over]);
    }

    private function run(string $script, array $args)
    {
        $text = file_get_contents(__DIR__ . "/../../src/bridge/lua/$script.lua");
        return $this->redis->eval($text, ['{' . $this->key . '}:token', $this->key, ...$args], 2);
    }
}

/** The token lock, on the new key. */
final class TokenLock
{
    private string $token;
    private string $key;

    public function __construct(private Redis $redis, string $key, private int $lease)
    {
        $this->key = '{' . $key . '}:token';
    }

    public function acquire(): bool
    {
        $this->token = bin2hex(random_bytes(16));
        return $this->redis->set($this->key, $this->token, ['nx', 'px' => 1000 * $this->lease]);
    }

    public function release(): string
    {
        $delete = 'return redis.call("get", KEYS[1]) == ARGV[1] and redis.call("del", KEYS[1]) or 0';
        return $this->redis->eval($delete, [$this->key, $this->token], 1) ? 'freed' : 'lost';
    }
}
