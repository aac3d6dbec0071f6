/* Preloaded, it lets the FAULT_N-th call of a kind (FAULT_CALL: open, write, rename, sync) fail with FAULT_ERRNO, if
   its path begins with one of FAULT_PATHS, which colons separate; with FAULT_LASTS=1 all that follow, too. The path of
   each call that fails is a line of the file FAULT_REPORT. Before libfaketime it sleeps until a time, as that cannot. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int passed;

static void path_of(int fd, const char *name, char *path, size_t size) {
    char link[64];
    ssize_t length = 0;
    path[0] = 0;
    if (!name || name[0] != '/') {
        if (fd == AT_FDCWD)
            length = getcwd(path, size - 1) ? (ssize_t)strlen(path) : 0;
        else {
            snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
            length = readlink(link, path, size - 1);
        }
        path[length > 0 ? length : 0] = 0;
    }
    if (name)
        snprintf(path + strlen(path), size - strlen(path), "%s%s", name[0] == '/' ? "" : "/", name);
}

static int is_ours(const char *path) {
    const char *prefix = getenv("FAULT_PATHS");
    while (prefix && *prefix) {
        size_t length = strcspn(prefix, ":");
        if (!strncmp(path, prefix, length))
            return 1;
        prefix += length + (prefix[length] == ':');
    }
    return 0;
}

static int fails(const char *call, int fd, const char *name) {
    const char *wanted = getenv("FAULT_CALL"), *lasts = getenv("FAULT_LASTS");
    char path[4096];
    int kept = errno, number, report;
    if (!wanted || strcmp(call, wanted))
        return 0;
    path_of(fd, name, path, sizeof path - 1);
    errno = kept;
    if (!is_ours(path))
        return 0;
    number = atoi(getenv("FAULT_N"));
    passed++;
    if (passed != number && !(lasts && *lasts == '1' && passed > number))
        return 0;
    strcat(path, "\n");
    report = syscall(SYS_openat, AT_FDCWD, getenv("FAULT_REPORT"), O_WRONLY | O_CREAT | O_APPEND, 0666);
    syscall(SYS_write, report, path, strlen(path));
    syscall(SYS_close, report);
    errno = atoi(getenv("FAULT_ERRNO"));
    return 1;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define MODE(flags) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | __O_TMPFILE)) { \
        va_list more; \
        va_start(more, flags); \
        mode = va_arg(more, mode_t); \
        va_end(more); \
    }
#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        MODE(flags) \
        return fails("open", AT_FDCWD, path) ? -1 : NEXT(name)(path, flags, mode); \
    }
#define OPENAT(name) \
    int name(int fd, const char *path, int flags, ...) { \
        MODE(flags) \
        return fails("open", fd, path) ? -1 : NEXT(name)(fd, path, flags, mode); \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

ssize_t write(int fd, const void *data, size_t size) { return fails("write", fd, 0) ? -1 : NEXT(write)(fd, data, size); }
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
    return fails("write", fd, 0) ? -1 : NEXT(pwrite)(fd, data, size, at);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    return fails("write", fd, 0) ? -1 : NEXT(pwrite64)(fd, data, size, at);
}
int fsync(int fd) { return fails("sync", fd, 0) ? -1 : NEXT(fsync)(fd); }
int rename(const char *from, const char *to) {
    return fails("rename", AT_FDCWD, to) ? -1 : NEXT(rename)(from, to);
}
int renameat(int from, const char *old, int to, const char *new) {
    return fails("rename", to, new) ? -1 : NEXT(renameat)(from, old, to, new);
}
int linkat(int from, const char *old, int to, const char *new, int flags) {
    return fails("rename", to, new) ? -1 : NEXT(linkat)(from, old, to, new, flags);
}
int clock_nanosleep(clockid_t clock, int flags, const struct timespec *wanted, struct timespec *left) {
    int kept = errno, failed = syscall(SYS_clock_nanosleep, clock, flags, wanted, left) ? errno : 0;
    errno = kept;
    return failed;
}
