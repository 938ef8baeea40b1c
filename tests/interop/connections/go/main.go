// Two users of locks with one client of a Go package: see `run`.
package main

import (
	"context"
	"os"
	"time"

	"github.com/gomodule/redigo/redis"
	goredis "github.com/redis/go-redis/v9"
)

type client struct {
	setnx, del func(key string)
	wait       func()
}

func main() {
	which, address := os.Args[1], "127.0.0.1:"+os.Args[2]
	clients := map[string]func(string) client{"go-redis": goRedis, "redigo": redigo}
	client := clients[which](address)
	client.setnx("lock:a")
	client.setnx("lock:b")
	done := make(chan struct{})
	go func() { client.wait(); close(done) }()
	time.Sleep(300 * time.Millisecond)
	client.del("lock:a")
	<-done
	client.del("lock:b")
}

func goRedis(address string) client {
	c, ctx := goredis.NewClient(&goredis.Options{Addr: address}), context.Background()
	return client{
		setnx: func(key string) { must(c.SetNX(ctx, key, "1", 0).Err()) },
		del:   func(key string) { must(c.Del(ctx, key).Err()) },
		wait:  func() { c.BLPop(ctx, time.Second, "queue") },
	}
}

// redigo lends a connection for a piece of work: here one command.
func redigo(address string) client {
	pool := &redis.Pool{MaxIdle: 2, Dial: func() (redis.Conn, error) { return redis.Dial("tcp", address) }}
	do := func(command string, words ...interface{}) {
		connection := pool.Get()
		defer connection.Close()
		_, err := connection.Do(command, words...)
		must(err)
	}
	return client{
		setnx: func(key string) { do("SETNX", key, "1") },
		del:   func(key string) { do("DEL", key) },
		wait:  func() { do("BLPOP", "queue", 1) },
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
