/* LD_PRELOAD: the nth call that writes to a watched folder, or has it written to the disk, kills the process before or after it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static char folder[PATH_MAX];
static long wanted, seen;
static int late;

void fault_arm(const char *path, long nth, int after) {
    strncpy(folder, path, sizeof folder - 1);
    wanted = nth, seen = 0, late = after;
}

long fault_seen(void) { return seen; }

static void strike(void) {
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

static int named(const char *path) { return folder[0] && path[0] == '/' && !strncmp(path, folder, strlen(folder)); }

static int watched(int fd) {
    char link[64], path[PATH_MAX];
    if (!folder[0])
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    return named(path);
}

#define CALL(type, name, condition, parameters, ...)                                                                             \
    type name parameters {                                                                                                       \
        static type(*real) parameters;                                                                                           \
        if (!real)                                                                                                               \
            real = dlsym(RTLD_NEXT, #name);                                                                                      \
        int hit = (condition) && ++seen == wanted;                                                                               \
        if (hit && !late)                                                                                                        \
            strike();                                                                                                            \
        type result = real(__VA_ARGS__);                                                                                         \
        if (hit)                                                                                                                 \
            strike();                                                                                                            \
        return result;                                                                                                           \
    }

CALL(ssize_t, write, watched(fd), (int fd, const void *data, size_t size), fd, data, size)
CALL(ssize_t, pwrite64, watched(fd), (int fd, const void *data, size_t size, off64_t place), fd, data, size, place)
CALL(ssize_t, pwrite, watched(fd), (int fd, const void *data, size_t size, off_t place), fd, data, size, place)
CALL(int, fsync, watched(fd), (int fd), fd)
CALL(int, fdatasync, watched(fd), (int fd), fd)
CALL(int, ftruncate64, watched(fd), (int fd, off64_t size), fd, size)
CALL(int, ftruncate, watched(fd), (int fd, off_t size), fd, size)
CALL(int, rename, folder[0] != 0, (const char *from, const char *to), from, to)
CALL(int, link, folder[0] != 0, (const char *from, const char *to), from, to)
CALL(int, unlink, folder[0] != 0, (const char *path), path)
