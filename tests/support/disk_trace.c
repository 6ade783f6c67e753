/* Loaded before the C library: tells what a process writes and syncs, or lets one call fail.
 *
 * TRACE_ROOT   only files below this folder, and standard output, count
 * TRACE_FILE   one record for each call that succeeded, in order: a kind, the inode, an offset, a length, data
 *                W written   T truncated (offset is the new length)   S synced
 *                D folder synced (data: "<inode> <name>" and a zero byte for each entry)   A standard output
 *                X the call that was made to fail (data: the file)
 * TRACE_FAIL   "sync N" or "write N": the N-th such call fails with EIO, once
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static int trace = -1;
static char root[4096];
static char fail_kind[16];
static long fail_at;
static long syncs, writes;
static uint64_t held[4096];
static int held_count;

static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_ftruncate)(int, off_t);

__attribute__((constructor)) static void begin(void) {
    real_write = dlsym(RTLD_NEXT, "write");
    real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
    real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
    const char *text = getenv("TRACE_ROOT");
    if (!text || !realpath(text, root)) return;
    text = getenv("TRACE_FAIL");
    if (text) sscanf(text, "%15s %ld", fail_kind, &fail_at);
    text = getenv("TRACE_FILE");
    if (!text) return;
    int made = open(text, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    trace = fcntl(made, F_DUPFD_CLOEXEC, 700);
    close(made);
}

/* The file's name, when it lies below the root. */
static int below_root(int fd, char *name, size_t room) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, name, room - 1);
    if (root[0] == 0 || length <= 0) return 0;
    name[length] = 0;
    return strncmp(name, root, strlen(root)) == 0;
}

static void record(char kind, uint64_t inode, int64_t offset, const void *data, uint64_t length) {
    if (trace < 0) return;
    unsigned char head[25];
    head[0] = kind;
    memcpy(head + 1, &inode, 8);
    memcpy(head + 9, &offset, 8);
    memcpy(head + 17, &length, 8);
    real_write(trace, head, sizeof head);
    if (length) real_write(trace, data, length);
}

/* Keeps the file open, so that no other gets its inode while the process lives. */
static void hold(int fd, uint64_t inode) {
    for (int at = 0; at < held_count; at++)
        if (held[at] == inode) return;
    if (held_count < 4096 && fcntl(fd, F_DUPFD_CLOEXEC, 701) >= 0) held[held_count++] = inode;
}

static int fails(const char *kind, long *count, const char *name) {
    if (strcmp(fail_kind, kind) != 0 || ++*count != fail_at) return 0;
    record('X', 0, 0, name, strlen(name));
    errno = EIO;
    return 1;
}

static ssize_t put(int fd, const void *data, size_t length, off_t offset, int placed) {
    char name[4096];
    struct stat about;
    pthread_mutex_lock(&turn);
    ssize_t done;
    if (fd == 1) {
        record('A', 0, 0, data, length);
        done = real_write(fd, data, length);
    } else if (fd != trace && below_root(fd, name, sizeof name) && fstat(fd, &about) == 0 && S_ISREG(about.st_mode)) {
        if (fails("write", &writes, name)) {
            done = -1;
        } else {
            if (!placed) offset = (fcntl(fd, F_GETFL) & O_APPEND) ? about.st_size : lseek(fd, 0, SEEK_CUR);
            done = placed ? real_pwrite(fd, data, length, offset) : real_write(fd, data, length);
            int problem = errno;
            hold(fd, about.st_ino);
            if (done > 0) record('W', about.st_ino, offset, data, (uint64_t)done);
            errno = problem;
        }
    } else {
        done = placed ? real_pwrite(fd, data, length, offset) : real_write(fd, data, length);
    }
    int problem = errno;
    pthread_mutex_unlock(&turn);
    errno = problem;
    return done;
}

ssize_t write(int fd, const void *data, size_t length) { return put(fd, data, length, 0, 0); }
ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) { return put(fd, data, length, offset, 1); }
ssize_t pwrite64(int fd, const void *data, size_t length, off_t offset) { return put(fd, data, length, offset, 1); }

static void record_folder(int fd, uint64_t inode) {
    static char entries[1 << 20];
    size_t used = 0;
    DIR *folder = fdopendir(fcntl(fd, F_DUPFD_CLOEXEC, 701));
    if (!folder) return;
    rewinddir(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        struct stat about;
        if (fstatat(fd, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0) continue;
        int length = snprintf(entries + used, sizeof entries - used, "%llu %s", (unsigned long long)about.st_ino, entry->d_name);
        if (length < 0 || used + (size_t)length + 1 > sizeof entries) break;
        used += (size_t)length + 1;
    }
    closedir(folder);
    record('D', inode, 0, entries, used);
}

static int sync_with(int fd, int (*real)(int)) {
    char name[4096];
    struct stat about;
    if (!below_root(fd, name, sizeof name) || fstat(fd, &about) != 0) return real(fd);
    pthread_mutex_lock(&turn);
    int done = fails("sync", &syncs, name) ? -1 : real(fd);
    int problem = errno;
    if (done == 0 && S_ISDIR(about.st_mode)) record_folder(fd, about.st_ino);
    if (done == 0 && S_ISREG(about.st_mode)) {
        hold(fd, about.st_ino);
        record('S', about.st_ino, 0, NULL, 0);
    }
    pthread_mutex_unlock(&turn);
    errno = problem;
    return done;
}

int fsync(int fd) { return sync_with(fd, real_fsync); }
int fdatasync(int fd) { return sync_with(fd, real_fdatasync); }

static int cut(int fd, off_t length) {
    char name[4096];
    struct stat about;
    if (!below_root(fd, name, sizeof name) || fstat(fd, &about) != 0) return real_ftruncate(fd, length);
    pthread_mutex_lock(&turn);
    int done = real_ftruncate(fd, length);
    int problem = errno;
    hold(fd, about.st_ino);
    if (done == 0) record('T', about.st_ino, length, NULL, 0);
    pthread_mutex_unlock(&turn);
    errno = problem;
    return done;
}

int ftruncate(int fd, off_t length) { return cut(fd, length); }
int ftruncate64(int fd, off_t length) { return cut(fd, length); }
