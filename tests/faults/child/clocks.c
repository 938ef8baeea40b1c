/* Preloaded into a client's process: its wall clock and its monotonic clock are set off by what stands in a file, in
   nanoseconds, the wall clock first. CLOCK_BOOTTIME stays as it is: it counts while a machine is suspended. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile const int64_t *off;

__attribute__((constructor)) static void map(void) {
    const char *path = getenv("LOCKSHIFT_FAULTS_CLOCKS");
    int file = path ? open(path, O_RDONLY) : -1;
    if (file < 0) return;
    void *at = mmap(NULL, 2 * sizeof *off, PROT_READ, MAP_SHARED, file, 0);
    if (at != MAP_FAILED) off = at;
    close(file);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    long failed = syscall(SYS_clock_gettime, clock, time);
    if (failed || !off || clock > CLOCK_MONOTONIC) return failed;
    int64_t nanos = time->tv_nsec + off[clock] % 1000000000;
    time->tv_sec += off[clock] / 1000000000;
    if (nanos < 0) { nanos += 1000000000; time->tv_sec--; }
    if (nanos >= 1000000000) { nanos -= 1000000000; time->tv_sec++; }
    time->tv_nsec = nanos;
    return 0;
}
