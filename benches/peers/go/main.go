// A lock library of Go: `worker LIBRARY PORT`. What it is asked and answers is described in ../src/worker.rs.
package main

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

const lease = 30 * time.Second

// Acquires, waiting as the library does by itself; what it returns releases. Nil once the context has ended.
type acquire func(ctx context.Context) func()

func bsm(client *redis.Client) func(string) acquire {
	locks := redislock.New(client)
	return func(key string) acquire {
		return func(ctx context.Context) func() {
			// It has no pause of its own: that of its documentation.
			options := &redislock.Options{RetryStrategy: redislock.LinearBackoff(100 * time.Millisecond)}
			lock, err := locks.Obtain(ctx, key, lease, options)
			if err != nil {
				return nil
			}
			return func() { must(lock.Release(context.Background())) }
		}
	}
}

func sync4(client *redis.Client) func(string) acquire {
	locks := redsync.New(goredis.NewPool(client))
	return func(key string) acquire {
		return func(ctx context.Context) func() {
			mutex := locks.NewMutex(key, redsync.WithExpiry(lease), redsync.WithTries(math.MaxInt32))
			if mutex.LockContext(ctx) != nil {
				return nil
			}
			return func() {
				_, err := mutex.Unlock()
				must(err)
			}
		}
	}
}

func cycles(lock func(string) acquire, tasks, count int) string {
	began := time.Now()
	var working sync.WaitGroup
	for task := range tasks {
		working.Add(1)
		go func() {
			defer working.Done()
			one := lock("peers-" + strconv.Itoa(task))
			for range count {
				one(context.Background())()
			}
		}()
	}
	working.Wait()
	return strconv.FormatInt(time.Since(began).Nanoseconds(), 10)
}

func contend(lock func(string) acquire, key string, clients int, length, hold time.Duration) string {
	end := time.Now().Add(length)
	ctx, cancel := context.WithDeadline(context.Background(), end)
	defer cancel()
	var mutex sync.Mutex
	var working sync.WaitGroup
	var acquisitions int
	var held time.Duration
	var waits []time.Duration
	for range clients {
		working.Add(1)
		go func() {
			defer working.Done()
			one := lock(key)
			for time.Now().Before(end) {
				waiting := time.Now()
				release := one(ctx)
				waited := time.Since(waiting)
				if release == nil {
					mutex.Lock()
					waits = append(waits, waited)
					mutex.Unlock()
					return
				}
				holding := time.Now()
				time.Sleep(hold)
				until := time.Now()
				if until.After(end) {
					until = end
				}
				mutex.Lock()
				waits = append(waits, waited)
				acquisitions++
				held += until.Sub(holding)
				mutex.Unlock()
				release()
			}
		}()
	}
	working.Wait()
	slices.Sort(waits)
	percentile := func(percent int) time.Duration {
		return waits[max(1, (len(waits)*percent+99)/100)-1]
	}
	p50, p99 := percentile(50).Nanoseconds(), percentile(99).Nanoseconds()
	return fmt.Sprintf("%d %d %d %d", acquisitions, held.Nanoseconds(), p50, p99)
}

func main() {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + os.Args[2], PoolSize: 64, PoolTimeout: time.Minute})
	must(client.Ping(context.Background()).Err())
	lock := bsm(client)
	if os.Args[1] == "redsync" {
		lock = sync4(client)
	}
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		switch {
		case words[0] == "cycles":
			fmt.Println(cycles(lock, number(words[1]), number(words[2])))
		case words[5] == "reads":
			fmt.Println("-")
		default:
			length, hold := time.Duration(number(words[3])), time.Duration(number(words[4]))
			fmt.Println(contend(lock, words[1], number(words[2]), length*time.Millisecond, hold*time.Millisecond))
		}
	}
}

func number(word string) int {
	value, err := strconv.Atoi(word)
	must(err)
	return value
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
