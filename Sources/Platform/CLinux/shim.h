// SPDX-License-Identifier: Apache-2.0
#ifndef VALET_CLINUX_SHIM_H
#define VALET_CLINUX_SHIM_H

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <linux/stat.h>
#include <locale.h>
#include <semaphore.h>
#include <signal.h>
#include <poll.h>
#include <pty.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

/* Swift cannot call variadic functions. `function` is the address of one that was loaded. */
static inline void valet_call_variadic(void *function, int command) {
    ((int (*)(int, ...))function)(command, 0);
}

/* prctl is variadic, which Swift does not import. */
static inline int valet_set_dumpable(int dumpable) {
    return prctl(PR_SET_DUMPABLE, (unsigned long)dumpable, 0UL, 0UL, 0UL);
}

/* Swift imports RLIMIT_CORE with another type than setrlimit takes. */
static inline int valet_disable_core_files(void) {
    const struct rlimit none = {0, 0};
    return setrlimit(RLIMIT_CORE, &none);
}

/* Lets this process have up to `count` open files, if its hard limit allows that. */
static inline void valet_allow_open_files(rlim_t count) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= count) return;
    limit.rlim_cur = limit.rlim_max < count ? limit.rlim_max : count;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* Writes into a pipe or a socket of somebody else, who may have made it block. Returns 1 if all
   bytes were written. A pipe is opened once more, because the flags of a description are shared. */
static inline int valet_write_now(int file, const void *bytes, size_t count) {
    struct stat status;
    if (fstat(file, &status) != 0) return 0;
    if (S_ISSOCK(status.st_mode)) {
        return send(file, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)count;
    }
    if (!S_ISFIFO(status.st_mode)) return 0;
    char path[32];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    const int own = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (own < 0) return 0;
    const ssize_t written = write(own, bytes, count);
    (void)close(own);
    return written == (ssize_t)count;
}

/* Whether a signal is ignored: by this process, or already by its parent. */
static inline int valet_is_signal_ignored(int number) {
    struct sigaction action;
    return sigaction(number, 0, &action) == 0 && action.sa_handler == SIG_IGN;
}

/* Ignores a signal, or restores its default action. Returns whether it was ignored. */
static inline int valet_ignore_signal(int number, int is_ignored) {
    return signal(number, is_ignored ? SIG_IGN : SIG_DFL) == SIG_IGN;
}

/* Whether an action is the default one. Swift does not compare pointers to functions. */
static inline int valet_is_default(const struct sigaction *action) {
    return action->sa_handler == SIG_DFL;
}

/* Takes a signal from its handler; an ignored one stays ignored. Swift does not compare
   pointers to functions. */
static inline void valet_drop_signal_handler(int number) {
    struct sigaction action;
    if (sigaction(number, 0, &action) != 0) return;
    if (action.sa_handler != SIG_IGN && action.sa_handler != SIG_DFL) signal(number, SIG_DFL);
}

/* The rest is here because Swift reads the C library without _GNU_SOURCE, which hides O_PATH,
   O_TMPFILE, open-file-description locks, renameat2, AT_EMPTY_PATH and sem_clockwait. The
   numbers below are the kernel's interface (include/uapi), the same on every architecture. */

/* Moves a descriptor that was just opened above the standard streams. A program may have been
   started without them, or have closed them: what it then prints must not go to a file of ours. */
static inline int valet_above_streams(int number) {
    int higher, reason;
    if (number < 0 || number > 2) return number;
    higher = fcntl(number, F_DUPFD_CLOEXEC, 3);
    reason = errno;
    close(number);
    errno = reason;
    return higher;
}

/* open is variadic; Swift's overlay of it is ambiguous where both overlays are visible. */
static inline int valet_open(const char *path, int flags) {
    return valet_above_streams(open(path, flags | O_CLOEXEC));
}

/* A handle that names a folder without being able to read it. */
static inline int valet_open_folder_handle(int folder, const char *path, int follows) {
    int flags = __O_PATH | O_DIRECTORY | O_CLOEXEC | (follows ? 0 : O_NOFOLLOW);
    return valet_above_streams(openat(folder, path, flags));
}

/* The same, in a folder and without following a link. */
static inline int valet_openat(int folder, const char *name, int flags, unsigned int mode) {
    return valet_above_streams(
        openat(folder, name, flags | O_CLOEXEC | O_NOFOLLOW, (mode_t)mode));
}

/* An unnamed file in the folder, open for reading and writing. */
static inline int valet_open_unnamed(int folder, unsigned int mode) {
    return valet_above_streams(
        openat(folder, ".", __O_TMPFILE | O_RDWR | O_CLOEXEC, (mode_t)mode));
}

/* Names an unnamed file. Without /proc only AT_EMPTY_PATH (0x1000) is left; before Linux 6.10
   that needs a capability. */
static inline int valet_link_unnamed(int file, int folder, const char *name) {
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (linkat(AT_FDCWD, path, folder, name, AT_SYMLINK_FOLLOW) == 0) return 0;
    if (errno != ENOENT) return -1;
    return linkat(file, "", folder, name, 0x1000);
}

/* RENAME_NOREPLACE is 1. */
static inline int valet_rename_without_replacing(int folder, const char *from, const char *to) {
    return (int)syscall(SYS_renameat2, folder, from, folder, to, 1U);
}

/* F_OFD_SETLK is 37. */
static inline int valet_set_description_lock(int file, int is_exclusive) {
    struct flock range;
    memset(&range, 0, sizeof range);
    range.l_type = is_exclusive ? F_WRLCK : F_UNLCK;
    range.l_whence = SEEK_SET;
    return fcntl(file, 37, &range);
}

/* The parts of a status that checks of files use. */
struct valet_file_status {
    uint64_t device, inode, link_count;
    int64_t byte_count;
    uint32_t mode, owner;
};

/* The file `name` in `folder`, or with AT_EMPTY_PATH (0x1000) the file `folder`. With
   AT_STATX_DONT_SYNC (0x4000) its file system is not asked, which statx alone can. The times are
   not asked for: since Linux 6.13 a file whose times were read gets a new one with its next write,
   and where there is no journal each sync then writes the inode, too. Old sandboxes refuse statx.
 */
static inline int valet_read_file_status(
    int folder, const char *name, int flags, struct valet_file_status *status) {
    struct statx facts;
    struct stat old;
    unsigned int mask = STATX_TYPE | STATX_MODE | STATX_NLINK | STATX_UID | STATX_INO | STATX_SIZE;
    if (syscall(SYS_statx, folder, name, flags, mask, &facts) == 0) {
        status->device = makedev(facts.stx_dev_major, facts.stx_dev_minor);
        status->inode = facts.stx_ino;
        status->link_count = facts.stx_nlink;
        status->byte_count = (int64_t)facts.stx_size;
        status->mode = facts.stx_mode;
        status->owner = facts.stx_uid;
        return 0;
    }
    flags &= ~0x4000;
    if ((errno != EPERM && errno != ENOSYS) || fstatat(folder, name, &old, flags) != 0)
        return -1;
    status->device = old.st_dev;
    status->inode = old.st_ino;
    status->link_count = old.st_nlink;
    status->byte_count = old.st_size;
    status->mode = old.st_mode;
    status->owner = old.st_uid;
    return 0;
}

/* When the file that `path` leads to was last changed, as the kernel remembers it. For files that
   this program does not write, see above. */
static inline int valet_read_change_time(
    const char *path, int64_t *seconds, uint32_t *nanoseconds) {
    struct statx facts;
    struct stat old;
    if (syscall(SYS_statx, AT_FDCWD, path, 0x4000, STATX_CTIME, &facts) == 0) {
        if (!(facts.stx_mask & STATX_CTIME)) return -1;
        *seconds = facts.stx_ctime.tv_sec;
        *nanoseconds = facts.stx_ctime.tv_nsec;
        return 0;
    }
    if ((errno != EPERM && errno != ENOSYS) || stat(path, &old) != 0) return -1;
    *seconds = old.st_ctim.tv_sec;
    *nanoseconds = (uint32_t)old.st_ctim.tv_nsec;
    return 0;
}

/* When a file was made, in seconds since 1970. The other times are not asked for, as above. Not
   every file system knows. */
static inline int valet_read_birth(const char *path, int64_t *seconds) {
    struct statx facts;
    if (syscall(SYS_statx, AT_FDCWD, path, 0, STATX_BTIME, &facts) != 0) return -1;
    if (!(facts.stx_mask & STATX_BTIME)) return -1;
    *seconds = (int64_t)facts.stx_btime.tv_sec;
    return 0;
}

/* Open files that a child of fork has to close. */
struct valet_held_files {
    int count;
    struct valet_held_file {
        int number;
        uint64_t device, inode;
    } files[64];
};

/* Closes those whose numbers still lead to the files. It may run in a child of fork, where the
   locks of the allocator and of Swift's runtime may be held by threads that are not there. */
static inline void valet_close_held_files(const struct valet_held_files *held) {
    struct valet_file_status status;
    for (int index = 0; index < held->count; index++) {
        const struct valet_held_file *file = &held->files[index];
        if (valet_read_file_status(file->number, "", 0x1000, &status) == 0 &&
            status.device == file->device && status.inode == file->inode)
            close(file->number);
    }
}

/* Without room for the file, nothing happens. */
static inline void valet_add_held_file(
    struct valet_held_files *held, int number, uint64_t device, uint64_t inode) {
    if (held->count >= (int)(sizeof held->files / sizeof *held->files)) return;
    held->files[held->count++] = (struct valet_held_file){number, device, inode};
}

static inline void valet_remove_held_file(struct valet_held_files *held, int number) {
    for (int index = 0; index < held->count; index++) {
        if (held->files[index].number != number) continue;
        held->files[index] = held->files[--held->count];
        return;
    }
}

/* `struct statfs` has the name of its function, and a field whose width differs by machine. */
static inline int valet_read_file_system(
    int file, uint32_t *magic, uint64_t *flags, int64_t *block_byte_count) {
    struct statfs facts;
    if (fstatfs(file, &facts) != 0) return -1;
    *magic = (uint32_t)facts.f_type;
    *flags = (uint64_t)facts.f_flags;
    *block_byte_count = (int64_t)facts.f_frsize;
    return 0;
}

extern int sem_clockwait(sem_t *, clockid_t, const struct timespec *);

/* Waits on the monotonic clock, which setting the date does not move. */
static inline int valet_semaphore_wait(sem_t *semaphore, int64_t nanoseconds) {
    struct timespec deadline = {
        (time_t)(nanoseconds / 1000000000), (long)(nanoseconds % 1000000000)};
    return sem_clockwait(semaphore, CLOCK_MONOTONIC, &deadline);
}

extern int pipe2(int[2], int);

/* Both ends close on exec, even if another thread forks at the same time. */
static inline int valet_make_pipe(int ends[2]) {
    if (pipe2(ends, O_CLOEXEC) != 0) return -1;
    ends[0] = valet_above_streams(ends[0]);
    ends[1] = valet_above_streams(ends[1]);
    if (ends[0] >= 0 && ends[1] >= 0) return 0;
    for (int end = 0; end < 2; end++) {
        if (ends[end] >= 0) close(ends[end]);
    }
    errno = EMFILE;
    return -1;
}

extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *, int);

/* Closes all descriptors from `first` on in the child. */
static inline int valet_close_from(posix_spawn_file_actions_t *actions, int first) {
    return posix_spawn_file_actions_addclosefrom_np(actions, first);
}

/* Gives this thread a table of descriptors of its own, with 0 to 2 alone: close_range is 436 on
   every architecture, CLOSE_RANGE_UNSHARE is 2. Nothing is closed for other threads. */
static inline int valet_leave_descriptors(void) {
    return (int)syscall(436, 3U, ~0U, 2U);
}

/* A handle on a child that no other process can take the number of: pidfd_open is 434 and
   pidfd_send_signal 424, on every architecture. */
static inline int valet_open_process(pid_t process) {
    return valet_above_streams((int)syscall(434, process, 0U));
}

static inline int valet_signal_process(int handle, int number) {
    return (int)syscall(424, handle, number, (void *)0, 0U);
}

/* Whether this process has more rights than its caller: the kernel started it so, or its real ids
   differ from the effective ones. */
static inline int valet_is_elevated(void) {
    uid_t user, effective_user, saved_user;
    gid_t group, effective_group, saved_group;
    return getauxval(AT_SECURE) != 0
        || getresuid(&user, &effective_user, &saved_user) != 0 || user != effective_user
        || getresgid(&group, &effective_group, &saved_group) != 0 || group != effective_group;
}

/* Keys of the kernel: add_key(2) and keyctl(2) have no function in the C library. All return the
   negative error number instead of setting errno, which Swift code could change before it is
   read. */

/* A key of type `user` that this thread alone possesses; returns its serial number. */
static inline int64_t valet_add_thread_key(
    const char *description, const void *payload, size_t byte_count) {
    long result = syscall(
        SYS_add_key, "user", description, payload, byte_count, KEY_SPEC_THREAD_KEYRING);
    return result < 0 ? -errno : result;
}

/* The length of the payload, which is copied only if there is room for all of it. */
static inline int64_t valet_read_key(int32_t key, void *payload, size_t room) {
    long result = syscall(SYS_keyctl, KEYCTL_READ, key, payload, room);
    return result < 0 ? -errno : result;
}

/* The length of "type;uid;gid;permissions;description" and the zero that ends it. */
static inline int64_t valet_describe_key(int32_t key, void *description, size_t room) {
    long result = syscall(SYS_keyctl, KEYCTL_DESCRIBE, key, description, room);
    return result < 0 ? -errno : result;
}

static inline int64_t valet_update_key(int32_t key, const void *payload, size_t byte_count) {
    long result = syscall(SYS_keyctl, KEYCTL_UPDATE, key, payload, byte_count);
    return result < 0 ? -errno : result;
}

/* Every other operation takes a key and at most one number. */
static inline int64_t valet_keyctl(int operation, int32_t key, int64_t argument) {
    long result = syscall(SYS_keyctl, operation, key, (unsigned long)argument, 0UL, 0UL);
    return result < 0 ? -errno : result;
}

/* The serial number of the user's persistent keyring, which is linked into the keyring of this
   thread: KEYCTL_GET_PERSISTENT is 22. */
static inline int64_t valet_persistent_keyring(void) {
    long result = syscall(SYS_keyctl, 22, (unsigned long)-1, KEY_SPEC_THREAD_KEYRING, 0UL, 0UL);
    return result < 0 ? -errno : result;
}

/* Has btrfs overwrite an empty file in place from now on, so that a full disk does not matter:
   FS_IOC_GETFLAGS, FS_IOC_SETFLAGS and FS_NOCOW_FL. Other file systems do so anyway, or refuse. */
static inline void valet_disable_copy_on_write(int file) {
    long flags = 0;
    if (ioctl(file, _IOR('f', 1, long), &flags) != 0) return;
    flags |= 0x00800000;
    (void)ioctl(file, _IOW('f', 2, long), &flags);
}

extern int wcwidth(wchar_t);

/* How many columns a terminal gives a character; -1 for one that is not shown. The C library
   knows this in locales with UTF-8 only, and this program otherwise uses none. Without that
   locale each character counts as one. Not for several threads. */
static inline int valet_column_count(uint32_t character) {
    static locale_t unicode;
    if (!unicode) unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    if (!unicode) return 1;
    locale_t before = uselocale(unicode);
    int count = wcwidth((wchar_t)character);
    uselocale(before);
    return count;
}

/* ioctl is variadic. 0 for something that is no terminal, or has no size. */
static inline int valet_terminal_column_count(int terminal) {
    struct winsize size;
    return ioctl(terminal, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

extern char **environ;
static inline char **valet_environment(void) { return environ; }

/* The arguments of this program, for a machine without /proc, where Swift has none. The kernel puts
   them on the stack before the environment, and their number before them. Called first before
   anything sets a variable, which may move the environment: then it is a null pointer. */
static inline char **valet_arguments_on_stack(int *count) {
    static char **arguments;
    static int total;
    uintptr_t start = (uintptr_t)environ, name = (uintptr_t)getauxval(AT_EXECFN);
    long number = 0;
    if (!arguments && environ && name > start && name - start < (64 << 20) && !environ[-1]) {
        while (number < 1 << 22 && (long)environ[-2 - number] != number) number++;
        if (number < 1 << 22) {
            arguments = environ - 1 - number;
            total = (int)number;
        }
    }
    *count = total;
    return arguments;
}

extern int execvpe(const char *, char *const[], char *const[]);
static inline int valet_become(
    const char *program, char *const arguments[], char *const environment[]) {
    return execvpe(program, arguments, environment);
}

/* A file in memory alone, which programs that this one starts inherit. MFD_ALLOW_SEALING is 2. */
static inline int valet_make_memory_file(void) {
    return (int)syscall(SYS_memfd_create, "valet", 2U);
}

/* Nobody can change the file any more. F_ADD_SEALS is 1033; the seals are those on sealing,
   shrinking, growing and writing. */
static inline int valet_seal_memory_file(int file) {
    return fcntl(file, 1033, 15);
}

static inline int valet_set_close_on_exec(int file, int closes) {
    return fcntl(file, F_SETFD, closes ? FD_CLOEXEC : 0);
}

/* A terminal with the size and the settings of `like`; both ends close on exec. With `is_raw` it
   passes output on as it is. */
static inline int valet_open_terminal(int *own, int *other, int like, int is_raw) {
    struct winsize size;
    struct termios settings;
    int has_size = ioctl(like, TIOCGWINSZ, &size) == 0;
    int has_settings = tcgetattr(like, &settings) == 0;
    if (openpty(own, other, 0, 0, has_size ? &size : 0) != 0) return -1;
    if (is_raw && (has_settings = tcgetattr(*other, &settings) == 0)) {
        settings.c_oflag &= ~(tcflag_t)OPOST;
        settings.c_lflag &= ~(tcflag_t)(ECHO | ECHONL);
    }
    if (has_settings) (void)tcsetattr(*other, TCSANOW, &settings);
    return valet_set_close_on_exec(*own, 1) | valet_set_close_on_exec(*other, 1);
}

/* Swift does not import fork. The child of a process with one thread may go on in Swift. */
static inline pid_t valet_fork(void) { return fork(); }

/* prctl and ioctl are variadic. The kernel sends the signal when the parent has ended. */
static inline int valet_die_with_parent(void) {
    return prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL, 0UL, 0UL, 0UL);
}

static inline int valet_take_terminal(int terminal) { return ioctl(terminal, TIOCSCTTY, 0); }

/* Closes the descriptors from `first` to `last`: close_range is 436 on every architecture. */
static inline void valet_close_range(unsigned int first, unsigned int last) {
    if (first <= last) (void)syscall(436, first, last, 0U);
}

static inline void valet_copy_terminal_size(int from, int to) {
    struct winsize size;
    if (ioctl(from, TIOCGWINSZ, &size) == 0) (void)ioctl(to, TIOCSWINSZ, &size);
}

/* Milliseconds since the machine started, sleep included. */
static inline uint64_t valet_boot_milliseconds(void) {
    struct timespec time;
    if (clock_gettime(CLOCK_BOOTTIME, &time) != 0) return UINT64_MAX;
    return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

#endif
