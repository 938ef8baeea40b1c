<?php
// The two locks on the server that REDIS_URL names, through phpredis, or through predis where LOCKSHIFT_TEST_CLIENT says so:
// `REDIS_URL=redis://127.0.0.1 phpunit tests`.

declare(strict_types=1);

use Lockshift\{BridgeLock, Fleet, Hold, Lost, NotAcquired, NotBridgeable, OutcomeUnknown, Released, TokenLock};
use PHPUnit\Framework\TestCase;

final class LocksTest extends TestCase
{
    private const LONG = 600.0;

    private object $redis;
    private string $key;

    protected function setUp(): void
    {
        $this->redis = self::connect((int) parse_url(getenv('REDIS_URL'), PHP_URL_PORT));
        $this->key = 'tests:php:' . bin2hex(random_bytes(8));
    }

    private static function connect(int $port, float $timeout = 0.0): object
    {
        if (getenv('LOCKSHIFT_TEST_CLIENT') === 'predis') {
            $options = $timeout > 0 ? ['read_write_timeout' => $timeout] : [];
            return new Predis\Client(['host' => '127.0.0.1', 'port' => $port] + $options);
        }
        $redis = new Redis();
        $redis->connect('127.0.0.1', $port, $timeout, null, 0, $timeout);
        return $redis;
    }

    /** Both locks, and the key that holds the token of each. */
    private function each(?object $redis = null): array
    {
        $redis ??= $this->redis;
        $bridge = "$this->key:bridge";
        return [
            [new TokenLock($redis, $this->key, self::LONG), $this->key],
            [new BridgeLock($redis, $bridge, self::LONG, ['php-getset']), Fleet::newKey($bridge)],
        ];
    }

    public function testAHeldLockIsRefusedUntilItsRelease(): void
    {
        foreach ($this->each() as [$lock, $key]) {
            $hold = $lock->tryAcquire();
            self::assertNull($lock->tryAcquire());
            try {
                $lock->acquire(0.05);
                self::fail('the lock is held');
            } catch (NotAcquired) {
            }
            self::assertSame(Released::Freed, $hold->release());
            self::assertSame(Released::Freed, $hold->release(), 'a second call returns what the first has found');
            self::assertEquals(0, $this->redis->exists($key));
            self::assertEquals(0, $this->redis->exists($lock->key));
        }
    }

    public function testAcquireWaitsUntilTheLockIsFree(): void
    {
        foreach ($this->each() as [$lock, $key]) {
            $lock->tryAcquire();
            $this->redis->pexpire($key, 100);
            $this->redis->pexpire($lock->key, 100);
            self::assertSame(Released::Freed, $lock->acquire(60)->release());
        }
    }

    public function testWithReleasesAndTheErrorOfTheWorkIsTheOneItThrows(): void
    {
        foreach ($this->each() as [$lock, $key]) {
            $worked = $lock->with(1, fn (Hold $hold) => $hold->isLost() ? 'lost' : $hold->remaining() > self::LONG / 2);
            self::assertTrue($worked);
            self::assertEquals(0, $this->redis->exists($key));
            try {
                $lock->with(1, function () use ($key) {
                    $this->redis->set($key, "another client's");
                    throw new DomainException('of the work');
                });
                self::fail('the work throws');
            } catch (DomainException) {
            }
            self::assertSame("another client's", $this->redis->get($key), 'only what the hold has written is deleted');
        }
    }

    public function testWorkThatHasLostTheLockThrowsLost(): void
    {
        foreach ($this->each() as [$lock, $key]) {
            try {
                $lock->with(1, fn () => $this->redis->set($key, "another client's"));
                self::fail('the lock is lost');
            } catch (Lost $lost) {
                self::assertFalse($lost->intruded);
            }
        }
    }

    public function testAnOverwrittenStampIsAnIntrusion(): void
    {
        $lock = new BridgeLock($this->redis, $this->key, self::LONG, ['php-getset']);
        try {
            $lock->with(1, function (Hold $hold) {
                $this->redis->set($this->key, '1');
                try {
                    $hold->extend();
                    self::fail('an old client has intruded');
                } catch (Lost $lost) {
                    self::assertTrue($lost->intruded);
                }
                self::assertTrue($hold->isLost());
            });
            self::fail('an old client has intruded');
        } catch (Lost $lost) {
            self::assertTrue($lost->intruded);
        }
    }

    public function testExtendRenewsTheLease(): void
    {
        foreach ($this->each() as [$lock, $key]) {
            $hold = $lock->tryAcquire();
            $this->redis->pexpire($key, 1000);
            $hold->extend();
            self::assertGreaterThan(self::LONG * 1000 / 2, $this->redis->pttl($key));
        }
    }

    public function testAServerThatDoesNotAnswerLeavesTheOutcomeUnknown(): void
    {
        $silent = stream_socket_server('tcp://127.0.0.1:0');
        $port = (int) substr(strrchr(stream_socket_get_name($silent, false), ':'), 1);
        foreach ([0, 1] as $which) {
            [$lock] = $this->each(self::connect($port, 0.1))[$which];
            try {
                $lock->tryAcquire();
                self::fail('the server does not answer');
            } catch (OutcomeUnknown $unknown) {
                self::assertNotNull($unknown->getPrevious());
            }
        }
    }

    public function testAFleetThatNoStampKeepsOutIsRefused(): void
    {
        foreach ([['no-such-dialect'], []] as $dialects) {
            try {
                new BridgeLock($this->redis, $this->key, self::LONG, $dialects);
                self::fail('no bridge is beside these');
            } catch (NotBridgeable $refused) {
                self::assertNotSame('', $refused->getMessage());
            }
        }
    }

    public function testTheNewKeyIsInTheSlotOfTheOldOne(): void
    {
        $keys = ['invoices' => '{invoices}:token', 'job:{42}' => 'job:{42}:token', '{{a}' => '{{a}:token'];
        foreach ($keys as $key => $new) {
            self::assertSame($new, Fleet::newKey($key));
        }
        // No hash tag is where the first braces have nothing in them, whatever follows.
        foreach (['', 'job:{}:{42}', 'a}b'] as $key) {
            try {
                Fleet::newKey($key);
                self::fail("'$key' has no new key");
            } catch (\ValueError $refused) {
                self::assertStringContainsString('cannot derive', $refused->getMessage());
            }
        }
    }

    public function testTheExampleOfTheReadmeRuns(): void
    {
        if (!class_exists('Redis')) {
            self::markTestSkipped('the example is for phpredis');
        }
        preg_match('/```php\n(.*?)```/s', file_get_contents(__DIR__ . '/../README.md'), $found);
        $host = "'127.0.0.1', " . parse_url(getenv('REDIS_URL'), PHP_URL_PORT);
        $example = str_replace("connect('127.0.0.1')", "connect($host)", $found[1], $replaced);
        self::assertSame(1, $replaced, 'the example connects to a server of its reader');
        $steps = [];
        $functions = ['firstStep', 'secondStep'];
        foreach ($functions as $name) {
            eval("function $name() { \$GLOBALS['steps'][] = '$name'; }");
        }
        $GLOBALS['steps'] = &$steps;
        eval($example);
        self::assertSame($functions, $steps);
    }
}
