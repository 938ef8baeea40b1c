/*
 * The GETSET lock of the Redis SETNX page, by hand, for SPIN: the steps that lockshift explores by running its protocol,
 * so that the two can be put side by side. Run it in a folder of your own:
 *
 *   spin -DTICKS=4 -o2 -a getset.pml && cc -O2 -DSAFETY -DNOREDUCE -o pan pan.c
 *   ./pan -m100000                 the first violation; with -i a shorter one
 *   spin -DTICKS=4 -t -p getset.pml                its steps
 *   ./pan -m100000 -c0             every state
 *
 * Read it beside acquire in legacy/src/lock/. What there is a command, a reply or a clock reading is here one step:
 * between two of them everybody else may act, time may pass, and the client may die. A step is atomic, and no state has a
 * name of its own unless another client could see it.
 *
 * Lockshift's clients remember every question and answer of the operation they are in, and so do these, needed or not:
 * when a clock was read, what each reply was (-o2 keeps SPIN from forgetting what nobody will ask for again). So it
 * counts the same states, and one more: that in which no client is there yet.
 */

#ifndef CLIENTS
#define CLIENTS 3
#endif
#ifndef LEASE
#define LEASE 2
#endif
#ifndef TICKS
#define TICKS 4
#endif

/* Time counts from 1, so that a key of 0 is no key. The stamp outlasts the lease by the margin of the page. */
#define MARGIN 1
byte now = 1;
byte key = 0;
byte crashes = 1;

/* Until when each client believes to hold; 0: it does not. */
byte until[CLIENTS];

/* What a client may do instead of its next step. */
#define dies crashes > 0 -> crashes--; until[me] = 0; forget; goto dead
#define forget since = 0; seen = 0; judged = 0; found = 0

/* A step that leads on in one way only. */
#define step(what) if :: atomic { what } :: atomic { dies } fi

/* It holds from now on: no other client may believe so. A lease has expired at its end. */
inline wins() {
    until[me] = since + LEASE;
    do
    :: other < CLIENTS ->
        assert(other == me || until[me] <= now || until[other] <= now);
        other++
    :: else -> break
    od;
    other = 0; forget
}

proctype Client(byte me) {
    byte since = 0;     /* when it read the clock for its stamp */
    byte seen = 0;      /* what GET found; behind a DEL, whether there was a key */
    byte judged = 0;    /* when it read the clock to judge that */
    byte found = 0;     /* what GETSET found */
    byte other = 0;

try:
    step(since = now);                                      /* reads the clock, makes the stamp */
    if                                                      /* SETNX */
    :: atomic { key == 0 -> key = since + LEASE + MARGIN; goto granted }
    :: atomic { key != 0 -> goto refused }
    :: atomic { dies }
    fi;
granted:
    step(wins(); goto working);                             /* the reply: 1 */
refused:
    step(skip);                                             /* the reply: 0 */
    step(seen = key);                                       /* GET */
    if                                                      /* the reply */
    :: atomic { seen != 0 -> skip }
    :: atomic { seen == 0 -> forget; goto try }             /* vanished: tries again */
    :: atomic { dies }
    fi;
    if                                                      /* reads the clock, judges */
    :: atomic { seen < now -> judged = now }
    :: atomic { seen >= now -> forget; goto try }
    :: atomic { dies }
    fi;
    step(found = key; key = since + LEASE + MARGIN);        /* GETSET */
    if                                                      /* the reply */
    :: atomic { found != 0 -> skip }
    :: atomic { found == 0 -> wins(); goto working }
    :: atomic { dies }
    fi;
    if                                                      /* reads the clock, judges */
    :: atomic { found < now -> wins() }
    :: atomic { found >= now -> forget; goto try }
    :: atomic { dies }
    fi;
working:
    step(since = until[me]; until[me] = 0; seen = (key != 0); key = 0);     /* DEL, at any time */
    step(forget);                                           /* the reply */
endDone:
    false;                                                  /* for ever */
dead:
endDead:
    false
}

proctype Clock() {
end:
    do
    :: atomic { now < 1 + TICKS -> now++ }
    od
}

init {
    atomic {
        byte client = 0;
        do
        :: client < CLIENTS -> run Client(client); client++
        :: else -> break
        od;
        run Clock()
    }
}
