// A foreign client in Go, on standard input and output: `client LIBRARY PORT`. What it is asked and what it answers is
// described in tests/interop/foreign.rs.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// What a library does with one lock.
type held interface {
	release() (bool, error)
	extend(lease time.Duration) (bool, error)
}

// One attempt; nil if the lock is held.
type acquire func(key string, lease time.Duration) (held, error)

var ctx = context.Background()

type ofRedislock struct{ lock *redislock.Lock }

func (it ofRedislock) release() (bool, error) {
	err := it.lock.Release(ctx)
	return err == nil, unless(err, redislock.ErrLockNotHeld)
}

func (it ofRedislock) extend(lease time.Duration) (bool, error) {
	err := it.lock.Refresh(ctx, lease, nil)
	return err == nil, unless(err, redislock.ErrNotObtained)
}

func byRedislock(client *redis.Client) acquire {
	locks := redislock.New(client)
	return func(key string, lease time.Duration) (held, error) {
		lock, err := locks.Obtain(ctx, key, lease, nil)
		if err != nil {
			return nil, unless(err, redislock.ErrNotObtained)
		}
		return ofRedislock{lock}, nil
	}
}

type ofRedsync struct{ mutex *redsync.Mutex }

func (it ofRedsync) release() (bool, error) { return it.mutex.Unlock() }

// It extends by the lease with which the mutex was made.
func (it ofRedsync) extend(time.Duration) (bool, error) { return it.mutex.Extend() }

func byRedsync(client *redis.Client) acquire {
	locks := redsync.New(goredis.NewPool(client))
	return func(key string, lease time.Duration) (held, error) {
		mutex := locks.NewMutex(key, redsync.WithExpiry(lease), redsync.WithTries(1))
		err := mutex.Lock()
		var taken *redsync.ErrTaken
		if errors.As(err, &taken) || errors.Is(err, redsync.ErrFailed) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return ofRedsync{mutex}, nil
	}
}

func unless(err, outcome error) error {
	if errors.Is(err, outcome) {
		return nil
	}
	return err
}

type session struct {
	library string
	acquire acquire
	counter *redis.Client
	held    map[string]held
}

func (it *session) answer(words []string) (string, error) {
	switch verb, args := words[0], words[1:]; verb {
	case "version":
		return version(it.library), nil
	case "acquire":
		return it.tries(args[1], millis(args[2]))
	case "release":
		released, err := it.held[args[0]].release()
		return either(released, "released", "refused"), err
	case "extend":
		extended, err := it.held[args[0]].extend(millis(args[1]))
		return either(extended, "extended", "lost"), err
	case "work":
		return it.works(args[1], args[2], number(args[3]), millis(args[4]), millis(args[5]))
	case "crash":
		return "", syscall.Kill(os.Getpid(), syscall.SIGKILL)
	default:
		return "unspoken", nil
	}
}

func (it *session) tries(key string, lease time.Duration) (string, error) {
	held, err := it.acquire(key, lease)
	if held == nil || err != nil {
		return "held", err
	}
	it.held[key] = held
	return "won", nil
}

func (it *session) works(key, witness string, cycles int, hold, lease time.Duration) (string, error) {
	done, doubles, overruns := 0, 0, 0
	for done < cycles {
		began := time.Now()
		outcome, err := it.tries(key, lease)
		if err != nil {
			return "", err
		}
		if outcome == "won" {
			inside, err := it.counter.Incr(ctx, witness).Result()
			if err != nil {
				return "", err
			}
			doubles += count(inside > 1)
			time.Sleep(hold)
			if err := it.counter.Decr(ctx, witness).Err(); err != nil {
				return "", err
			}
			overruns += count(time.Since(began) > lease)
			if _, err := it.held[key].release(); err != nil {
				return "", err
			}
			done++
		}
		time.Sleep(time.Duration(500+rand.Intn(2000)) * time.Microsecond)
	}
	return fmt.Sprintf("worked %d %d %d", done, doubles, overruns), nil
}

func version(library string) string {
	module := map[string]string{"redislock": "github.com/bsm/redislock", "redsync": "github.com/go-redsync/redsync/v4"}[library]
	build, _ := debug.ReadBuildInfo()
	for _, dependency := range build.Deps {
		if dependency.Path == module {
			return fmt.Sprintf("%s %s, Go", library, strings.TrimPrefix(dependency.Version, "v"))
		}
	}
	return library + ", Go"
}

func millis(word string) time.Duration { return time.Duration(number(word)) * time.Millisecond }

func number(word string) int {
	number, err := strconv.Atoi(word)
	if err != nil {
		panic(err)
	}
	return number
}

func either(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

func main() {
	library, address := os.Args[1], "127.0.0.1:"+os.Args[2]
	client := redis.NewClient(&redis.Options{Addr: address})
	by := map[string]func(*redis.Client) acquire{"redislock": byRedislock, "redsync": byRedsync}[library]
	it := &session{library, by(client), redis.NewClient(&redis.Options{Addr: address}), map[string]held{}}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := strings.Split(lines.Text(), " ")
		answer, err := it.answer(words[1:])
		if err != nil {
			answer = "failed " + strings.ReplaceAll(err.Error(), "\n", " ")
		}
		fmt.Println(words[0], answer)
	}
}
