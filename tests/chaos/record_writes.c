/* Records every change that a program makes to files below RECORD_UNDER, in order, to RECORD_TO.
 *
 * Loaded with LD_PRELOAD. An entry is a line `operation TAB path TAB offset TAB length LF` and then
 * that many bytes. Only what a power cut may lose is recorded; reading is not.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int trace_fd = -1;

static int is_ours(const char *path) {
    const char *under = getenv("RECORD_UNDER");
    return under != NULL && path != NULL && strncmp(path, under, strlen(under)) == 0;
}

static void emit(const void *data, size_t size) {
    const char *next = data;
    while (size > 0) {
        long written = syscall(SYS_write, trace_fd, next, size);
        if (written <= 0) return;
        next += written;
        size -= (size_t)written;
    }
}

static void note(const char *operation, const char *path, long offset, const void *data, size_t size) {
    char line[PATH_MAX + 100];
    int length;
    if (!is_ours(path)) return;
    pthread_mutex_lock(&mutex);
    if (trace_fd < 0)
        trace_fd = (int)syscall(SYS_openat, AT_FDCWD, getenv("RECORD_TO"),
                                O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    length = snprintf(line, sizeof line, "%s\t%s\t%ld\t%zu\n", operation, path, offset, size);
    emit(line, (size_t)length);
    if (size > 0) emit(data, size);
    pthread_mutex_unlock(&mutex);
}

static const char *path_of(int fd, char *path) {
    char link[64];
    ssize_t length;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    length = readlink(link, path, PATH_MAX - 1);
    if (length < 0) return NULL;
    path[length] = 0;
    return path;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *data, size_t size) {
    char path[PATH_MAX];
    ssize_t done = REAL(write)(fd, data, size);
    if (done > 0 && is_ours(path_of(fd, path)))
        note("write", path, (long)lseek(fd, 0, SEEK_CUR) - (long)done, data, (size_t)done);
    return done;
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
    char path[PATH_MAX];
    ssize_t done = REAL(pwrite)(fd, data, size, offset);
    if (done > 0) note("write", path_of(fd, path), (long)offset, data, (size_t)done);
    return done;
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) {
    char path[PATH_MAX];
    ssize_t done = REAL(pwrite64)(fd, data, size, offset);
    if (done > 0) note("write", path_of(fd, path), (long)offset, data, (size_t)done);
    return done;
}

#define TRUNCATE(name, type)                                            \
    int name(int fd, type length) {                                     \
        char path[PATH_MAX];                                            \
        int result = REAL(name)(fd, length);                            \
        if (result == 0) note("truncate", path_of(fd, path), (long)length, "", 0); \
        return result;                                                  \
    }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

#define SYNC(name)                                                      \
    int name(int fd) {                                                  \
        char path[PATH_MAX];                                            \
        int result = REAL(name)(fd);                                    \
        if (result == 0) note("sync", path_of(fd, path), 0, "", 0);     \
        return result;                                                  \
    }
SYNC(fsync)
SYNC(fdatasync)

int unlink(const char *path) {
    int result = REAL(unlink)(path);
    if (result == 0) note("unlink", path, 0, "", 0);
    return result;
}

int rename(const char *from, const char *to) {
    int result = REAL(rename)(from, to);
    if (result == 0) note("rename", from, 0, to, strlen(to));
    return result;
}

int mkdir(const char *path, mode_t mode) {
    int result = REAL(mkdir)(path, mode);
    if (result == 0) note("mkdir", path, 0, "", 0);
    return result;
}

static void note_open(const char *path, int flags, int existed) {
    if (!existed && (flags & O_CREAT)) note("create", path, 0, "", 0);
    else if (flags & O_TRUNC) note("truncate", path, 0, "", 0);
}

#define OPEN(name)                                                      \
    int name(const char *path, int flags, ...) {                        \
        mode_t mode = 0;                                                \
        int existed, result;                                            \
        if (flags & O_CREAT) {                                          \
            va_list more;                                               \
            va_start(more, flags);                                      \
            mode = va_arg(more, mode_t);                                \
            va_end(more);                                               \
        }                                                               \
        existed = access(path, F_OK) == 0;                              \
        result = REAL(name)(path, flags, mode);                         \
        if (result >= 0) note_open(path, flags, existed);               \
        return result;                                                  \
    }
OPEN(open)
OPEN(open64)
