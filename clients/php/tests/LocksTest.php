<?php
// The two locks on the server that REDIS_URL names, through phpredis, or through predis where LOCKSHIFT_TEST_CLIENT says so:
// `REDIS_URL=redis://127.0.0.1 phpunit tests`.

declare(strict_types=1);

use Lockshift\{BridgeLock, Fleet, Hold, Lock, Lost, NotAcquired, NotBridgeable, OutcomeUnknown, Released, TokenLock};
use PHPUnit\Framework\TestCase;

final class LocksTest extends TestCase
{
    private const LONG = 600.0;

    private object $redis;
    private string $key;
    /** @var list<resource> kept open until the end of a test */
    private array $accepted = [];

    protected function setUp(): void
    {
        $this->redis = self::connect(self::port());
        $this->key = 'tests:php:' . bin2hex(random_bytes(8));
    }

    private static function port(): int
    {
        return (int) parse_url(getenv('REDIS_URL'), PHP_URL_PORT);
    }

    private static function connect(int $port, float $timeout = 0.0, array $predis = []): object
    {
        if (getenv('LOCKSHIFT_TEST_CLIENT') === 'predis') {
            $options = $timeout > 0 ? ['read_write_timeout' => $timeout] : [];
            return new Predis\Client(['host' => '127.0.0.1', 'port' => $port] + $options, $predis);
        }
        $redis = new Redis();
        $redis->connect('127.0.0.1', $port, 0.0, null, 0, $timeout);
        return $redis;
    }

    /** @param resource $server */
    private static function portOf($server): int
    {
        return (int) substr(strrchr(stream_socket_get_name($server, false), ':'), 1);
    }

    /** A client whose server has sent this reply before it is asked. */
    private function answering(string $reply, array $predis = []): object
    {
        $server = stream_socket_server('tcp://127.0.0.1:0');
        $client = self::connect(self::portOf($server), 30.0, $predis);
        if (!$client instanceof Redis) {
            $client->connect();
        }
        $this->accepted[] = $connection = stream_socket_accept($server);
        fwrite($connection, $reply);
        return $client;
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
            $worked = $lock->with(60, fn (Hold $hold) => $hold->isLost() ? 'lost' : $hold->remaining() > self::LONG / 2);
            self::assertTrue($worked);
            self::assertEquals(0, $this->redis->exists($key));
            try {
                $lock->with(60, function () use ($key) {
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
                $lock->with(60, fn () => $this->redis->set($key, "another client's"));
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
            $lock->with(60, function (Hold $hold) {
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

    public function testALossThatTheWorkCatchesIsStillReportedAtTheEnd(): void
    {
        $lock = new BridgeLock($this->redis, $this->key, self::LONG, ['php-getset']);
        try {
            $lock->with(60, function (Hold $hold) {
                $this->redis->del($this->key);
                $first = self::lossOf($hold);
                self::assertTrue($first->intruded);
                self::assertSame($first, self::lossOf($hold), 'a recorded loss is final');
            });
            self::fail('an old client was inside');
        } catch (Lost $lost) {
            self::assertTrue($lost->intruded);
        }
        foreach ($this->each() as [$lock, $key]) {
            $hold = $lock->tryAcquire();
            $own = $this->redis->get($key);
            $this->redis->set($key, "another client's");
            self::assertFalse(self::lossOf($hold)->intruded);
            $this->redis->set($key, $own);
            self::assertSame(Released::Lost, $hold->release());
        }
    }

    private static function lossOf(Hold $hold): Lost
    {
        try {
            $hold->extend();
        } catch (Lost $lost) {
            return $lost;
        }
        self::fail('the lock is lost');
    }

    /** A hold of a lock that gives these answers, and throws those that are errors. */
    private function answeredHold(float $lease, mixed ...$answers): Hold
    {
        $lock = new class ($this->redis, $this->key, $lease) extends Lock {
            public array $answers = [];

            protected function attempt(string $token): bool
            {
                return true;
            }

            public function extend(string $token): int
            {
                return $this->release($token);
            }

            public function release(string $token): int
            {
                $answer = array_shift($this->answers);
                return $answer instanceof Throwable ? throw $answer : $answer;
            }
        };
        $lock->answers = $answers;
        return $lock->tryAcquire();
    }

    public function testAReleaseAfterOneWithoutAReplyCannotTellALoss(): void
    {
        foreach ([new OutcomeUnknown('no reply'), new RuntimeException('of a signal handler')] as $error) {
            $hold = $this->answeredHold(self::LONG, $error, 0, 1);
            try {
                $hold->release();
                self::fail('no reply arrives');
            } catch (RuntimeException $thrown) {
                self::assertSame($error, $thrown);
            }
            try {
                $hold->release();
                self::fail('the first release may have freed it');
            } catch (OutcomeUnknown $unknown) {
                self::assertStringContainsString($this->key, $unknown->getMessage());
            }
            self::assertSame(Released::Freed, $hold->release());
        }
        $expired = $this->answeredHold(0.001, new OutcomeUnknown('no reply'), 0);
        try {
            $expired->release();
            self::fail('no reply arrives');
        } catch (OutcomeUnknown) {
        }
        usleep(2000);
        self::assertSame(Released::Lost, $expired->release());
    }

    public function testARecordedLossIsWhatAReleaseReports(): void
    {
        foreach ([0, 1, new OutcomeUnknown('no reply')] as $answer) {
            foreach ([[0, Released::Lost], [2, Released::Intruded]] as [$extended, $reported]) {
                $hold = $this->answeredHold(self::LONG, $extended, $answer);
                self::lossOf($hold);
                self::assertSame($reported, $hold->release());
            }
        }
        $hold = $this->answeredHold(self::LONG, 0, 2);
        self::lossOf($hold);
        self::assertSame(Released::Intruded, $hold->release());
    }

    public function testAKeyOfAnotherTypeIsAnotherClients(): void
    {
        foreach ($this->each() as [$lock, $key]) {
            $hold = $lock->tryAcquire();
            $this->redis->del($key);
            $this->redis->rpush($key, ['a list']);
            self::assertNull($lock->tryAcquire());
            self::assertSame(Released::Lost, $hold->release());
            $this->redis->del($key, $lock->key);
            $hold = $lock->tryAcquire();
            $this->redis->del($key);
            $this->redis->rpush($key, ['a list']);
            self::assertFalse(self::lossOf($hold)->intruded);
            self::assertEquals(1, $this->redis->llen($key), 'it is not deleted');
        }
    }

    /** A client that throws once after a command has run, or after an option has been set, as a signal handler may. */
    private static function interrupted(Throwable $error, string $after): object
    {
        if (getenv('LOCKSHIFT_TEST_CLIENT') === 'predis') {
            $client = new class (['host' => '127.0.0.1', 'port' => self::port()]) extends Predis\Client {
                public ?Throwable $error = null;

                public function executeCommand(Predis\Command\CommandInterface $command)
                {
                    $reply = parent::executeCommand($command);
                    [$error, $this->error] = [$this->error, null];
                    return $error === null ? $reply : throw $error;
                }
            };
        } else {
            $client = new class extends Redis {
                public ?Throwable $error = null;
                public string $after = 'command';

                public function set($key, $value, $options = null): Redis|string|bool
                {
                    return $this->end('command', parent::set($key, $value, $options));
                }

                public function eval($script, $args = [], $count = 0): mixed
                {
                    return $this->end('command', parent::eval($script, $args, $count));
                }

                public function setOption($option, $value): bool
                {
                    return $this->end('option', parent::setOption($option, $value));
                }

                private function end(string $step, mixed $result): mixed
                {
                    if ($this->error === null || $step !== $this->after) {
                        return $result;
                    }
                    [$error, $this->error] = [$this->error, null];
                    throw $error;
                }
            };
            $client->connect('127.0.0.1', self::port());
            $client->setOption(Redis::OPT_SERIALIZER, Redis::SERIALIZER_PHP);
            $client->after = $after;
        }
        $client->error = $error;
        return $client;
    }

    public function testAnInterruptedAttemptIsReleasedAndLeavesTheClientAsItWas(): void
    {
        foreach ($this->redis instanceof Redis ? ['command', 'option'] : ['command'] as $after) {
            foreach ([new RuntimeException('stop'), new DomainException('stop'), new Error('stop')] as $error) {
                foreach ([0, 1] as $which) {
                    $client = self::interrupted($error, $after);
                    [$lock, $key] = $this->each($client)[$which];
                    try {
                        $lock->tryAcquire();
                        self::fail('the attempt is interrupted');
                    } catch (Throwable $thrown) {
                        self::assertSame($error, $thrown);
                    }
                    self::assertEquals(0, $this->redis->exists($key));
                    self::assertEquals(0, $this->redis->exists($lock->key));
                    if ($client instanceof Redis) {
                        self::assertSame(Redis::SERIALIZER_PHP, $client->getOption(Redis::OPT_SERIALIZER));
                    }
                    self::assertSame(Released::Freed, $lock->tryAcquire()->release());
                }
            }
        }
    }

    public function testExtendRenewsTheLease(): void
    {
        foreach ($this->each() as [$lock, $key]) {
            $hold = $lock->tryAcquire();
            $this->redis->pexpire($key, 60000);
            $hold->extend();
            self::assertGreaterThan(self::LONG * 1000 / 2, $this->redis->pttl($key));
        }
    }

    public function testAServerThatDoesNotAnswerLeavesTheOutcomeUnknown(): void
    {
        $silent = stream_socket_server('tcp://127.0.0.1:0');
        foreach ([0, 1] as $which) {
            [$lock] = $this->each(self::connect(self::portOf($silent), 0.1))[$which];
            try {
                $lock->tryAcquire();
                self::fail('the server does not answer');
            } catch (OutcomeUnknown $unknown) {
                self::assertNotNull($unknown->getPrevious());
            }
        }
    }

    public function testAnErrorReplyIsAnErrorAndNotABrokenConnection(): void
    {
        foreach (['OOM command not allowed', 'ERR invalid expire time', 'NOPERM no permissions'] as $text) {
            foreach ([0, 1] as $which) {
                [$lock] = $this->each($this->answering("-$text\r\n"))[$which];
                try {
                    $lock->acquire(60);
                    self::fail("the server answers $text");
                } catch (OutcomeUnknown | NotAcquired $wrong) {
                    self::fail("$text is taken for: {$wrong->getMessage()}");
                } catch (\Exception $error) {
                    self::assertStringContainsString($text, $error->getMessage());
                }
            }
        }
    }

    public function testARefusedConnectionLeavesTheOutcomeUnknown(): void
    {
        $server = stream_socket_server('tcp://127.0.0.1:0');
        $client = self::connect(self::portOf($server), 30.0);
        $client instanceof Redis ? $client->close() : $client->disconnect();
        fclose($server);
        foreach ($this->each($client) as [$lock]) {
            try {
                $lock->tryAcquire();
                self::fail('nothing listens');
            } catch (OutcomeUnknown $unknown) {
                self::assertNotNull($unknown->getPrevious());
            }
        }
    }

    public function testAnErrorOfTheReleaseDoesNotReplaceAnUnknownOutcome(): void
    {
        if (!$this->redis instanceof Redis) {
            self::markTestSkipped('for predis, what a proxy says of its own connection is an error reply');
        }
        [$lock] = $this->each($this->answering("-Connection timed out\r\n-LOADING the dataset\r\n"))[1];
        $this->expectException(OutcomeUnknown::class);
        $lock->tryAcquire();
    }

    public function testErrorsThatPredisReturnsAreThrown(): void
    {
        if (getenv('LOCKSHIFT_TEST_CLIENT') !== 'predis') {
            self::markTestSkipped('phpredis has no such option');
        }
        foreach ([0, 1] as $which) {
            [$lock] = $this->each($this->answering("-OOM command not allowed\r\n", ['exceptions' => false]))[$which];
            try {
                $lock->tryAcquire();
                self::fail('the server has refused the command');
            } catch (Predis\Response\ServerException $error) {
                self::assertSame('OOM command not allowed', $error->getMessage());
            }
        }
    }

    public function testSerializersAndCompressionDoNotReachTheLock(): void
    {
        if (!$this->redis instanceof Redis) {
            self::markTestSkipped('predis has no such options');
        }
        $options = [[Redis::OPT_SERIALIZER, Redis::SERIALIZER_PHP], [Redis::OPT_SERIALIZER, Redis::SERIALIZER_JSON]];
        if (defined('Redis::COMPRESSION_LZF')) {
            $options[] = [Redis::OPT_COMPRESSION, Redis::COMPRESSION_LZF];
        }
        foreach ($options as [$option, $value]) {
            $client = self::connect(self::port());
            $client->setOption($option, $value);
            foreach ($this->each($client) as [$lock, $key]) {
                $hold = $lock->tryAcquire();
                self::assertMatchesRegularExpression('/\A[0-9a-f]{32}(:\d+)?\z/', $this->redis->get($key));
                self::assertNull($lock->tryAcquire());
                $hold->extend();
                self::assertSame(Released::Freed, $hold->release());
                self::assertSame($value, $client->getOption($option), 'the client is as it was');
            }
        }
    }

    public function testAClientWithAPrefixIsRefused(): void
    {
        if (getenv('LOCKSHIFT_TEST_CLIENT') === 'predis') {
            $client = new Predis\Client(['host' => '127.0.0.1', 'port' => self::port()], ['prefix' => 'app:']);
            $plain = new Predis\Client(['host' => '127.0.0.1', 'port' => self::port()], ['prefix' => '']);
        } else {
            $plain = $client = self::connect(self::port());
            $late = new TokenLock($client, $this->key, self::LONG);
            $client->setOption(Redis::OPT_PREFIX, 'app:');
            self::assertRefused('without a prefix', fn () => $late->tryAcquire());
        }
        self::assertRefused('without a prefix', fn () => new TokenLock($client, $this->key, self::LONG));
        self::assertRefused('without a prefix', fn () => new BridgeLock($client, $this->key, self::LONG, ['php-getset']));
        if ($plain instanceof Redis) {
            $plain->setOption(Redis::OPT_PREFIX, '');
        }
        self::assertSame(Released::Freed, (new TokenLock($plain, $this->key, self::LONG))->tryAcquire()->release());
    }

    public function testAClientInATransactionOrAPipelineIsRefused(): void
    {
        foreach ([0, 1] as $which) {
            foreach ($this->redis instanceof Redis ? ['multi', 'pipeline'] : ['multi'] as $mode) {
                [$lock, $key] = $this->each()[$which];
                $hold = $lock->tryAcquire();
                $this->redis->$mode();
                self::assertRefused($this->redis instanceof Redis ? 'end it' : 'do not exec', fn () => $lock->tryAcquire());
                self::assertRefused('multi()', fn () => $hold->extend());
                self::assertRefused('multi()', fn () => $hold->release());
                $this->redis->discard();
                self::assertSame(Released::Freed, $hold->release());
            }
        }
    }

    public function testALeaseIsBetweenAMillisecondAndACentury(): void
    {
        foreach ([NAN, INF, -INF, 0.0, -1.0, 0.0001, 1e10, 1e15, 1e17] as $lease) {
            self::assertRefused('century', fn () => new TokenLock($this->redis, $this->key, $lease));
            self::assertRefused('century', fn () => new BridgeLock($this->redis, $this->key, $lease, ['php-getset']));
        }
        foreach ([0.001, 100 * 365 * 86400.0] as $lease) {
            self::assertSame((int) ($lease * 1000), (new TokenLock($this->redis, $this->key, $lease))->leaseMs);
        }
    }

    public function testATimeoutThatHasPassedAllowsOneAttempt(): void
    {
        foreach ($this->each() as [$lock]) {
            $hold = $lock->acquire(-1);
            try {
                $lock->acquire(-1);
                self::fail('it is held');
            } catch (NotAcquired $refused) {
                self::assertStringEndsWith('held by another client for 0 s', $refused->getMessage());
            }
            self::assertSame(Released::Freed, $hold->release());
            self::assertRefused('NAN', fn () => $lock->acquire(NAN));
        }
    }

    private static function assertRefused(string $reason, callable $call): void
    {
        try {
            $call();
        } catch (LogicException $refused) {
            self::assertStringContainsString($reason, $refused->getMessage());
            return;
        }
        self::fail("it must be refused: $reason");
    }

    public function testNumbersThatAreNoMomentAreLive(): void
    {
        $fleet = new Fleet(['php-getset']);
        set_error_handler(fn ($level, $message) => throw new ErrorException($message));
        try {
            $digits = str_repeat('9', 400);
            $numbers = [$digits, "0$digits", "$digits.5", '1e999999', '1e-999999', '9223372036854775808', "\u{661}\u{666}"];
            foreach ($numbers as $value) {
                self::assertFalse($fleet->isExpired($value, 60000, 1.8e12), $value);
            }
        } finally {
            restore_error_handler();
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
        foreach (['invoices', Fleet::newKey('invoices')] as $key) {
            $this->redis->del($key);
        }
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
