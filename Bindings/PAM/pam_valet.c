// SPDX-License-Identifier: Apache-2.0
// The PAM module of Valet. It unlocks a user's keychain with the login password when the user logs
// in, and changes the passcode when the user changes the password. docs/SECRET-SERVICE.md, "With
// the login", says how to set it up.
//
// The module never decides about a login: it logs its failures, and PAM continues. It runs the
// `valet` command as the user, so nothing of a keychain is read with the rights of root.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pthread.h>
#include <pwd.h>
#include <security/pam_ext.h>
#include <security/pam_modules.h>
#include <security/pam_modutil.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#ifndef VALET_COMMAND
#define VALET_COMMAND "/usr/bin/valet"
#endif

#define EXPORT __attribute__((visibility("default")))
#define UNUSED __attribute__((unused))
#define KEPT "pam_valet_password"
#define COUNT(array) (sizeof(array) / sizeof *(array))

enum {
    LONGEST_PASSWORD = 1024,  // bytes; PAM itself asks for 511 at most
    MOST_GROUPS = 65536,      // NGROUPS_MAX of the kernel
    TIME_LIMIT = 5000,        // milliseconds for the command
    REAP_LIMIT = 1000,        // and for its end, once it is killed
};

// How a run of the command ended: 0 to 255 is its exit status (valet(1)), or one of these.
enum {
    ABSENT = 44,
    NOT_SET_UP = 126,  // the child could not become the user
    NOT_EXECUTED = 127,
    TIMED_OUT = 256,
    DIED,      // by a signal
    UNKNOWN,   // another thread of the host has taken the exit status
    NOT_RUN,
};

struct options {
    const char *command;
    bool debug, lock;
};

// A password in memory of its own, which is locked, and missing in core files.
struct password {
    uid_t user;
    size_t length;
    char bytes[LONGEST_PASSWORD];
};

// What the child needs. The host may have threads, so all of it is prepared before the fork.
struct job {
    const struct passwd *user;
    bool is_root;
    gid_t *groups;
    int group_count;
    int input, nowhere;
    char *arguments[8];
    char *environment[8];
    char texts[4][PATH_MAX + 32];
};

static struct options parse(pam_handle_t *handle, int count, const char **words)
{
    struct options options = {.command = VALET_COMMAND};
    for (int index = 0; index < count; index++) {
        if (strcmp(words[index], "debug") == 0)
            options.debug = true;
        else if (strcmp(words[index], "lock") == 0)
            options.lock = true;
        else if (strncmp(words[index], "command=/", 9) == 0)
            options.command = words[index] + 8;
        else
            pam_syslog(handle, LOG_NOTICE, "unknown argument: %s", words[index]);
    }
    return options;
}

static const char *text_of(pam_handle_t *handle, int item)
{
    const void *text = NULL;
    return pam_get_item(handle, item, &text) == PAM_SUCCESS ? text : NULL;
}

static const struct passwd *user_of(pam_handle_t *handle)
{
    const char *name = text_of(handle, PAM_USER);
    return name == NULL ? NULL : pam_modutil_getpwnam(handle, name);
}

// Whether the command can read the password as one line.
static bool is_line(const char *text)
{
    if (text == NULL) return false;
    size_t length = strnlen(text, LONGEST_PASSWORD + 1);
    return length > 0 && length <= LONGEST_PASSWORD && strpbrk(text, "\r\n") == NULL;
}

// MARK: The kept password

static void wipe(UNUSED pam_handle_t *handle, void *data, UNUSED int status)
{
    if (data == NULL) return;
    explicit_bzero(data, sizeof(struct password));
    munmap(data, sizeof(struct password));
}

static void forget(pam_handle_t *handle)
{
    // PAM calls `wipe` for what was kept before.
    (void)pam_set_data(handle, KEPT, NULL, NULL);
}

static const struct password *kept(pam_handle_t *handle)
{
    const void *data = NULL;
    return pam_get_data(handle, KEPT, &data) == PAM_SUCCESS ? data : NULL;
}

// Keeps a copy of the password, in place of an earlier one: PAM itself keeps it only until the end
// of the authentication. `text` is a line.
static void keep(pam_handle_t *handle, uid_t user, const char *text)
{
    struct password *copy = mmap(NULL, sizeof *copy, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED) {
        pam_syslog(handle, LOG_NOTICE, "no memory for the password: %m");
        return;
    }
    if (mlock(copy, sizeof *copy) != 0 || madvise(copy, sizeof *copy, MADV_DONTDUMP) != 0) {
        pam_syslog(handle, LOG_NOTICE, "cannot protect the memory of the password: %m");
        munmap(copy, sizeof *copy);
        return;
    }
    copy->user = user;
    copy->length = strlen(text);
    memcpy(copy->bytes, text, copy->length);
    if (pam_set_data(handle, KEPT, copy, wipe) != PAM_SUCCESS) {
        pam_syslog(handle, LOG_NOTICE, "cannot keep the password");
        wipe(handle, copy, 0);
    }
}

// MARK: The child

// Closes all descriptors except the standard ones.
static void close_others(void)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, 3U, ~0U, 0U) == 0) return;
#endif
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) _exit(NOT_SET_UP);
    // Slow where the limit is huge. The time limit of the command includes it.
    rlim_t end = limit.rlim_max < INT_MAX ? limit.rlim_max : INT_MAX;
    for (int number = 3; number < (int)end; number++) close(number);
}

// Gives up every right that the user does not have, and checks that it is gone.
static bool become_user(const struct job *job)
{
    uid_t user = job->user->pw_uid, users[3];
    gid_t group = job->is_root ? job->user->pw_gid : getgid(), groups[3];
    if (job->is_root && setgroups((size_t)job->group_count, job->groups) != 0) return false;
    // Without root, this gives up the group of a program that has the set-group-ID bit.
    if (setresgid(group, group, group) != 0) return false;
    if (job->is_root && setresuid(user, user, user) != 0) return false;
    if (getresuid(&users[0], &users[1], &users[2]) != 0) return false;
    if (getresgid(&groups[0], &groups[1], &groups[2]) != 0) return false;
    for (int index = 0; index < 3; index++)
        if (users[index] != user || groups[index] != group) return false;
    if (user != 0 && (setuid(0) == 0 || seteuid(0) == 0)) return false;
    // Kernels before 4.3 have no ambient capabilities.
    if (user != 0 && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
        return errno == EINVAL;
    return true;
}

// Runs in a child of a process that may have threads, so it calls async-signal-safe functions only.
static _Noreturn void execute(const struct job *job)
{
    // execve(2) leaves ignored signals ignored. The C library does not let go of its own, 32 and 33.
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    for (int number = 1; number < NSIG; number++) (void)sigaction(number, &standard, NULL);
    sigset_t none;
    sigemptyset(&none);
    if (sigprocmask(SIG_SETMASK, &none, NULL) != 0) _exit(NOT_SET_UP);

    // If the host has closed its standard descriptors, these may have their numbers.
    int input = fcntl(job->input, F_DUPFD, 3), nowhere = fcntl(job->nowhere, F_DUPFD, 3);
    if (input < 0 || nowhere < 0 || dup2(input, STDIN_FILENO) < 0 ||
        dup2(nowhere, STDOUT_FILENO) < 0 || dup2(nowhere, STDERR_FILENO) < 0)
        _exit(NOT_SET_UP);
    close_others();

    const struct rlimit no_core = {0, 0};
    if (setsid() < 0 || !become_user(job) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || setrlimit(RLIMIT_CORE, &no_core) != 0 ||
        chdir("/") != 0)
        _exit(NOT_SET_UP);
    umask(077);
    execve(job->arguments[0], job->arguments, job->environment);
    _exit(NOT_EXECUTED);
}

// MARK: Running the command

static int64_t now(void)
{
    struct timespec time = {0, 0};
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

// Fills `groups`, which the caller frees. getgrouplist(3) is not async-signal-safe.
static bool find_groups(struct job *job)
{
    for (int room = 64; room <= MOST_GROUPS; room *= 2) {
        gid_t *list = reallocarray(job->groups, (size_t)room, sizeof *list);
        if (list == NULL) return false;
        job->groups = list;
        job->group_count = room;
        if (getgrouplist(job->user->pw_name, job->user->pw_gid, list, &job->group_count) >= 0)
            return true;
    }
    return false;
}

static bool add_variable(struct job *job, int index, const char *name, const char *value)
{
    char *text = job->texts[index];
    int length = snprintf(text, sizeof job->texts[index], "%s=%s", name, value);
    job->environment[index] = text;
    return length > 0 && (size_t)length < sizeof job->texts[index];
}

// The environment is fixed. Variables of the PAM session are left out, because users may set some
// of them: they would choose paths that root looks at.
static bool find_environment(struct job *job)
{
    static char path[] = "PATH=/usr/bin:/bin";
    static char language[] = "LANG=C.UTF-8", all[] = "LC_ALL=C.UTF-8";
    char folder[32];
    int index = 0;
    struct stat status;
    if (!add_variable(job, index++, "HOME", job->user->pw_dir) ||
        !add_variable(job, index++, "USER", job->user->pw_name) ||
        !add_variable(job, index++, "LOGNAME", job->user->pw_name))
        return false;
    (void)snprintf(folder, sizeof folder, "/run/user/%u", (unsigned)job->user->pw_uid);
    bool is_folder = lstat(folder, &status) == 0 && S_ISDIR(status.st_mode);
    if (is_folder && status.st_uid == job->user->pw_uid &&
        !add_variable(job, index++, "XDG_RUNTIME_DIR", folder))
        return false;
    job->environment[index++] = path;
    job->environment[index++] = language;
    job->environment[index++] = all;
    job->environment[index] = NULL;
    return true;
}

// Puts the lines into the socket that becomes the standard input of the command. A socket, unlike
// a pipe, cannot be opened by other processes through /proc/PID/fd. The lines are far shorter than
// its buffer, so nobody waits, and nothing is written after the command has begun.
static bool send_lines(struct job *job, struct iovec *lines, size_t count)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
    job->input = ends[0];
    size_t length = 0;
    for (size_t index = 0; index < count; index++) length += lines[index].iov_len;
    const struct msghdr message = {.msg_iov = lines, .msg_iovlen = count};
    ssize_t sent =
        length == 0 ? 0 : sendmsg(ends[1], &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    close(ends[1]);
    return sent >= 0 && (size_t)sent == length;
}

// Waits until the child has ended, or until `deadline`.
static int wait_until(int64_t deadline, pid_t child)
{
    const struct timespec pause = {0, 5000000};
    for (;;) {
        int status = 0;
        pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child) return WIFEXITED(status) ? WEXITSTATUS(status) : DIED;
        if (ended < 0 && errno != EINTR) return UNKNOWN;
        if (now() >= deadline) return TIMED_OUT;
        (void)nanosleep(&pause, NULL);
    }
}

static int start_and_wait(pam_handle_t *handle, const struct job *job)
{
    // A host that ignores SIGCHLD, or collects all children in its handler, would take the exit
    // status. One thread at a time changes that, so that the last one restores the host's setting.
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    struct sigaction before;
    sigset_t all, mask;
    sigfillset(&all);
    int outcome = NOT_RUN;
    // In a child that a host forked from another thread, nobody might give the mutex back.
    struct timespec end;
    if (clock_gettime(CLOCK_REALTIME, &end) != 0) return outcome;
    end.tv_sec += (TIME_LIMIT + REAP_LIMIT) / 1000;
    if (pthread_mutex_timedlock(&mutex, &end) != 0) return outcome;
    (void)sigaction(SIGCHLD, &standard, &before);
    // No signal handler of the host may run in the child.
    int64_t start = now();
    (void)pthread_sigmask(SIG_SETMASK, &all, &mask);
    pid_t child = fork();
    if (child == 0) execute(job);
    if (child < 0) pam_syslog(handle, LOG_NOTICE, "cannot start a process: %m");
    (void)pthread_sigmask(SIG_SETMASK, &mask, NULL);
    if (child > 0) outcome = wait_until(start + TIME_LIMIT, child);
    if (outcome == TIMED_OUT) {
        // The group, and the child in case it does not lead its group yet.
        (void)kill(-child, SIGKILL);
        (void)kill(child, SIGKILL);
        if (wait_until(start + TIME_LIMIT + REAP_LIMIT, child) == TIMED_OUT)
            pam_syslog(handle, LOG_NOTICE, "process %d cannot be killed", (int)child);
    }
    (void)sigaction(SIGCHLD, &before, NULL);
    (void)pthread_mutex_unlock(&mutex);
    // A child of the host's may have ended meanwhile.
    if ((before.sa_flags & SA_SIGINFO) ||
        (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN))
        (void)raise(SIGCHLD);
    return outcome;
}

// Runs the command as the user, with `lines` as its standard input.
static int run(pam_handle_t *handle, const struct options *options, const struct passwd *user,
               const char *const words[], struct iovec *lines, size_t count)
{
    uid_t real, effective, saved;
    if (getresuid(&real, &effective, &saved) != 0) return NOT_RUN;
    struct job job = {.user = user, .is_root = effective == 0, .input = -1, .nowhere = -1};
    if (!job.is_root && (real != user->pw_uid || effective != real || saved != real)) {
        if (options->debug) pam_syslog(handle, LOG_DEBUG, "neither root nor %s", user->pw_name);
        return NOT_RUN;
    }
    // execve(2) leaves the words as they are.
    size_t argument = 0;
    job.arguments[argument++] = (char *)options->command;
    for (; words[argument - 1] != NULL && argument < COUNT(job.arguments) - 1; argument++)
        job.arguments[argument] = (char *)words[argument - 1];

    int outcome = NOT_RUN;
    job.nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (job.nowhere >= 0 && find_groups(&job) && find_environment(&job) &&
        send_lines(&job, lines, count))
        outcome = start_and_wait(handle, &job);
    else
        pam_syslog(handle, LOG_NOTICE, "cannot prepare to run %s: %m", options->command);
    if (job.input >= 0) close(job.input);
    if (job.nowhere >= 0) close(job.nowhere);
    free(job.groups);
    if (options->debug)
        pam_syslog(handle, LOG_DEBUG, "%s %s for %s: %d", options->command, words[0],
                   user->pw_name, outcome);
    return outcome;
}

static const char *reason(int outcome)
{
    switch (outcome) {
    case 1: return "each program unlocks for itself here, or the command failed ('valet status')";
    case 65: return "stored data is damaged ('valet doctor')";
    case 75: return "it is busy, or its TPM accepts no passcode now";
    case 77: return "its passcode is not the password";
    case NOT_SET_UP: return "the process could not become the user";
    case NOT_EXECUTED: return "the command could not be executed";
    case TIMED_OUT: return "the command did not end in five seconds";
    default: return "the command failed";
    }
}

static bool is_failure(int outcome)
{
    return outcome != 0 && outcome != ABSENT && outcome != UNKNOWN && outcome != NOT_RUN;
}

static void log_failure(pam_handle_t *handle, const struct passwd *user, const char *what,
                        int outcome)
{
    if (is_failure(outcome))
        pam_syslog(handle, LOG_NOTICE, "did not %s the keychain of %s: %s (%d)", what,
                   user->pw_name, reason(outcome), outcome);
}

// MARK: What PAM calls

EXPORT int pam_sm_authenticate(pam_handle_t *handle, UNUSED int flags, int count,
                              const char **words)
{
    struct options options = parse(handle, count, words);
    forget(handle);
    const char *password = text_of(handle, PAM_AUTHTOK);
    const struct passwd *user = user_of(handle);
    if (user != NULL && is_line(password))
        keep(handle, user->pw_uid, password);
    else if (options.debug)
        pam_syslog(handle, LOG_DEBUG, "no known user, or no password of one line");
    return PAM_IGNORE;
}

// Unlocks the keychain with the kept password, which is then forgotten.
static void unlock(pam_handle_t *handle, const struct options *options)
{
    static const char *const verb[] = {"unlock", "--passcode-fd", "0", "--no-questions", NULL};
    const struct password *password = kept(handle);
    if (password == NULL) return;
    const struct passwd *user = user_of(handle);
    // sudo asks for the caller's password, and then acts for another user.
    if (user != NULL && user->pw_uid == password->user) {
        struct iovec lines[] = {{(char *)password->bytes, password->length}, {"\n", 1}};
        log_failure(handle, user, "unlock", run(handle, options, user, verb, lines, COUNT(lines)));
    } else if (options->debug) {
        pam_syslog(handle, LOG_DEBUG, "the session is not that of the password's user");
    }
    forget(handle);
}

// Screen lockers open no session: they renew the credentials of the one that goes on.
EXPORT int pam_sm_setcred(pam_handle_t *handle, int flags, int count, const char **words)
{
    struct options options = parse(handle, count, words);
    if ((unsigned)flags & (PAM_REINITIALIZE_CRED | PAM_REFRESH_CRED)) unlock(handle, &options);
    return PAM_IGNORE;
}

EXPORT int pam_sm_open_session(pam_handle_t *handle, UNUSED int flags, int count,
                              const char **words)
{
    struct options options = parse(handle, count, words);
    unlock(handle, &options);
    return PAM_SUCCESS;
}

EXPORT int pam_sm_close_session(pam_handle_t *handle, UNUSED int flags, int count,
                               const char **words)
{
    static const char *const lock[] = {"lock", "--no-questions", NULL};
    struct options options = parse(handle, count, words);
    const struct passwd *user = options.lock ? user_of(handle) : NULL;
    if (user == NULL) return PAM_SUCCESS;
    int outcome = run(handle, &options, user, lock, NULL, 0);
    // 1: it has no passcode.
    if (outcome != 1) log_failure(handle, user, "lock", outcome);
    return PAM_SUCCESS;
}

// Logs that the passcode is not the new password, and shows it to the person.
static void tell(pam_handle_t *handle, int flags, const char *name, const char *what,
                 const char *why)
{
    pam_syslog(handle, LOG_NOTICE, "the passcode of %s's keychain%s: %s", name, what, why);
    if (!((unsigned)flags & PAM_SILENT))
        (void)pam_info(handle, "valet: the passcode of the keychain%s: %s", what, why);
}

EXPORT int pam_sm_chauthtok(pam_handle_t *handle, int flags, int count, const char **words)
{
    // What the system accepts as a password, the keychain accepts as its passcode: --weak.
    static const char *const change[] = {"passcode", "change", "--passcode-fd", "0",
                                         "--no-questions", "--weak", NULL};
    if (!(flags & PAM_UPDATE_AUTHTOK)) return PAM_IGNORE;
    struct options options = parse(handle, count, words);
    const struct passwd *user = user_of(handle);
    const char *old = text_of(handle, PAM_OLDAUTHTOK), *new = text_of(handle, PAM_AUTHTOK);
    if (user == NULL || new == NULL) return PAM_IGNORE;
    if (!is_line(old) || !is_line(new)) {
        tell(handle, flags, user->pw_name, ", if there is one, was not changed",
             old == NULL ? "the old password was not asked for" : "a password is not one line");
        return PAM_IGNORE;
    }
    struct iovec lines[] = {
        {(char *)old, strlen(old)}, {"\n", 1}, {(char *)new, strlen(new)}, {"\n", 1}};
    int outcome = run(handle, &options, user, change, lines, COUNT(lines));
    if (outcome == 0) {
        // An expired password is changed between authentication and session.
        const struct password *password = kept(handle);
        if (password != NULL && password->user == user->pw_uid) keep(handle, user->pw_uid, new);
    } else if (outcome == NOT_EXECUTED) {
        pam_syslog(handle, LOG_NOTICE, "%s: %s", options.command, reason(outcome));
    } else if (outcome != ABSENT) {
        bool is_certain = outcome <= UCHAR_MAX || outcome == NOT_RUN;
        tell(handle, flags, user->pw_name,
             is_certain ? " was not changed" : " may not have been changed",
             outcome == 1    ? "there is none, or the command failed"
             : outcome == 77 ? "it is not the old password"
                             : reason(outcome));
    }
    return PAM_IGNORE;
}
