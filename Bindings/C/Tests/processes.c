/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests with several threads and processes, and of deadlines.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test.h"

enum { THREADS = 16 };

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int rounds(void)
{
    const char *text = getenv("ROUNDS");
    return text ? atoi(text) : 25;
}

static valet_t shared;

/* Stores, reads and removes keys of its own, with the shared handle and with others. */
static void *work(void *argument)
{
    char key[32], value[32];
    int32_t is_there;
    const long number = (long)(intptr_t)argument;
    for (int round = 0; round < rounds(); round += 1) {
        valet_t own = valet_named("Threads");
        valet_secret_t secret;
        valet_keys_t keys;
        snprintf(key, sizeof(key), "key %ld", number);
        snprintf(value, sizeof(value), "value %ld.%d", number, round);
        OK(valet_set(round % 2 ? own : shared, TEXT(key), TEXT(value), NULL));
        check_value(shared, key, TEXT(value));
        snprintf(key, sizeof(key), "no key %ld", number);
        CHECK_STATUS(valet_get(own, TEXT(key), NULL, &secret), VALET_ITEM_NOT_FOUND);
        check_error(VALET_ITEM_NOT_FOUND, VALET_ERROR_KEYCHAIN, 2, "");
        CHECK_STATUS(valet_set(own, NULL, 0, "v", 1, NULL), VALET_INVALID_ARGUMENT);
        check_error(VALET_INVALID_ARGUMENT, VALET_ERROR_KEYCHAIN, 4, "");
        OK(valet_contains(shared, TEXT(key), NULL, &is_there));
        CHECK(is_there == 0);
        OK(valet_keys(own, NULL, &keys));
        OK(valet_keys_free(keys));
        OK(valet_close(own));
    }
    return NULL;
}

/* Sixteen threads use one handle and handles of their own. */
void test_threads(void)
{
    pthread_t threads[THREADS];
    size_t count;
    valet_keys_t keys;
    shared = valet_named("Threads");
    for (long index = 0; index < THREADS; index += 1)
        CHECK(pthread_create(&threads[index], NULL, work, (void *)(intptr_t)index) == 0);
    for (int index = 0; index < THREADS; index += 1)
        CHECK(pthread_join(threads[index], NULL) == 0);
    OK(valet_keys(shared, NULL, &keys));
    OK(valet_keys_count(keys, &count));
    CHECK(count == THREADS);
    OK(valet_keys_free(keys));
    OK(valet_close(shared));
}

static volatile int is_over;

static void *keep_busy(void *unused)
{
    (void)unused;
    while (!is_over) {
        valet_t own = valet_named("Fork");
        valet_secret_t secret;
        OK(valet_get(own, TEXT("key"), NULL, &secret));
        OK(valet_secret_free(secret));
        OK(valet_close(own));
    }
    return NULL;
}

/* Ends the process if a child has not ended by itself in time. */
static void wait_for(pid_t child)
{
    int status = 0;
    const double begin = seconds();
    while (waitpid(child, &status, WNOHANG) == 0) {
        struct timespec pause = {0, 5000000};
        if (seconds() - begin > 60) kill(child, SIGKILL);
        nanosleep(&pause, NULL);
    }
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* A child uses the handles of its parent, and new ones. */
static void use_everything(valet_t valet, valet_secret_t secret)
{
    const uint8_t *bytes;
    valet_t own = valet_named("Fork");
    OK(valet_secret_bytes(secret, &bytes));
    CHECK(memcmp(bytes, "value", 5) == 0);
    check_value(valet, "key", "value", 5);
    check_value(own, "key", "value", 5);
    OK(valet_set(own, TEXT("of a child"), "1", 1, NULL));
    OK(valet_wait(VALET_WHEN_UNLOCKED, 1000));
    OK(valet_secret_free(secret));
    OK(valet_close(valet));
    CHECK_STATUS(valet_close(valet), VALET_INVALID_ARGUMENT);
}

/* The handles are whole in a child even if another thread was using the keychain. The keychain may
   refuse to work in such a child (docs/decisions/0010-fork.md), but nothing hangs. */
static void use_handles(valet_t valet, valet_secret_t secret)
{
    const uint8_t *bytes;
    valet_secret_t found;
    OK(valet_secret_bytes(secret, &bytes));
    CHECK(memcmp(bytes, "value", 5) == 0);
    const int32_t status = valet_get(valet, TEXT("key"), NULL, &found);
    if (status == VALET_OK) {
        OK(valet_secret_free(found));
    } else {
        check_error(-2070, VALET_ERROR_KEYCHAIN, 0, "forked while another thread");
    }
    OK(valet_secret_free(secret));
    OK(valet_close(valet));
    OK(valet_close(valet_named("New")));
}

static void in_child(void (*body)(valet_t, valet_secret_t), valet_t valet, valet_secret_t secret)
{
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        body(valet, secret);
        _exit(0);
    }
    wait_for(child);
}

/* Children of fork work, of processes with one thread and with several. */
void test_fork(void)
{
    pthread_t threads[4];
    valet_secret_t secret;
    valet_t valet = valet_named("Fork");
    OK(valet_set(valet, TEXT("key"), "value", 5, NULL));
    OK(valet_get(valet, TEXT("key"), NULL, &secret));
    in_child(use_everything, valet, secret);
    check_value(valet, "of a child", "1", 1);
    for (int index = 0; index < 4; index += 1)
        CHECK(pthread_create(&threads[index], NULL, keep_busy, NULL) == 0);
    for (int round = 0; round < 2 * rounds(); round += 1) in_child(use_handles, valet, secret);
    is_over = 1;
    for (int index = 0; index < 4; index += 1) CHECK(pthread_join(threads[index], NULL) == 0);
    in_child(use_everything, valet, secret);
    OK(valet_secret_free(secret));
    OK(valet_close(valet));
}

static void ignore(int number) { (void)number; }

/* Signals that interrupt system calls change nothing. */
void test_signals(void)
{
    struct sigaction action;
    const pid_t parent = getpid();
    valet_t valet = valet_named("Signals");
    memset(&action, 0, sizeof(action));
    action.sa_handler = ignore;
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        struct timespec pause = {0, 200000};
        while (kill(parent, SIGUSR1) == 0 && getppid() == parent) nanosleep(&pause, NULL);
        _exit(0);
    }
    for (int round = 0; round < 4 * rounds(); round += 1) {
        OK(valet_set(valet, TEXT("key"), "value", 5, NULL));
        check_value(valet, "key", "value", 5);
    }
    CHECK(valet_wait(VALET_WHEN_UNLOCKED, 100) == 0);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    OK(valet_close(valet));
}

/* A write ends by its deadline while another process holds the writers' lock. */
void test_deadline(void)
{
    char path[4096], byte;
    int ends[2];
    valet_options options = VALET_INIT(valet_options);
    valet_t valet = valet_named("Deadline");
    OK(valet_set(valet, TEXT("key"), "value", 5, NULL));
    CHECK(getenv("VALET_HOME") != NULL && pipe(ends) == 0);
    snprintf(path, sizeof(path), "%s/keychain.lock", getenv("VALET_HOME"));
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        struct flock lock;
        memset(&lock, 0, sizeof(lock));
        lock.l_type = F_WRLCK;
        const int file = open(path, O_RDWR | O_CLOEXEC);
        if (file < 0 || fcntl(file, F_OFD_SETLKW, &lock) != 0) _exit(1);
        if (write(ends[1], "x", 1) != 1) _exit(1);
        pause();
        _exit(0);
    }
    CHECK(read(ends[0], &byte, 1) == 1);
    options.deadline_ms = 400;
    double begin = seconds();
    CHECK_STATUS(valet_set(valet, TEXT("key"), "other", 5, &options), VALET_NOT_AVAILABLE);
    CHECK(seconds() - begin >= 0.4 && seconds() - begin < 3);
    begin = seconds();
    check_value(valet, "key", "value", 5);
    CHECK(seconds() - begin < 3);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    OK(valet_set(valet, TEXT("key"), "other", 5, &options));
    OK(valet_close(valet));
}

static void *unlock_soon(void *unused)
{
    struct timespec pause = {0, 300000000};
    (void)unused;
    nanosleep(&pause, NULL);
    OK(valet_unlock(TEXT("open sesame"), 0, 0));
    return NULL;
}

static int32_t state_now(void)
{
    int32_t state, level;
    OK(valet_state(&state, &level));
    CHECK_STATUS(level, VALET_LEVEL_PASSCODE);
    return state;
}

/* A locked keychain: what can be read, and how it is unlocked. Its passcode is "open sesame". */
void test_locked(void)
{
    valet_options options = VALET_INIT(valet_options);
    valet_secret_t secret;
    valet_t open = valet_with("Locked", VALET_AFTER_FIRST_UNLOCK);
    valet_t closed = valet_with("Locked", VALET_WHEN_UNLOCKED);
    CHECK_STATUS(state_now(), VALET_STATE_BEFORE_FIRST_UNLOCK);
    CHECK_STATUS(valet_set(open, TEXT("k"), "1", 1, NULL), VALET_INTERACTION_NOT_ALLOWED);
    check_error(VALET_INTERACTION_NOT_ALLOWED, VALET_ERROR_KEYCHAIN, 0, "locked");
    CHECK_STATUS(valet_unlock(TEXT("wrong"), 0, 0), VALET_AUTH_FAILED);
    CHECK_STATUS(valet_unlock(NULL, 0, 0, 0), VALET_INVALID_ARGUMENT);
    OK(valet_unlock(TEXT("open sesame"), 0, 0));
    CHECK_STATUS(state_now(), VALET_STATE_UNLOCKED);
    OK(valet_set(open, TEXT("k"), "1", 1, NULL));
    OK(valet_set(closed, TEXT("k"), "2", 1, NULL));
    OK(valet_lock(0));
    CHECK_STATUS(state_now(), VALET_STATE_LOCKED);
    check_value(open, "k", "1", 1);
    CHECK_STATUS(valet_get(closed, TEXT("k"), NULL, &secret), VALET_INTERACTION_NOT_ALLOWED);
    CHECK(secret == NULL);
    OK(valet_lock(1));
    CHECK_STATUS(state_now(), VALET_STATE_BEFORE_FIRST_UNLOCK);
    OK(valet_unlock(TEXT("open sesame"), 300, 0));
    check_value(closed, "k", "2", 1);
    for (int round = 0; round < 100 && state_now() == VALET_STATE_UNLOCKED; round += 1) {
        struct timespec pause = {0, 20000000};
        nanosleep(&pause, NULL);
    }
    CHECK_STATUS(state_now(), VALET_STATE_LOCKED);
    /* The greatest periods stand for no limit. */
    options.deadline_ms = UINT32_MAX;
    OK(valet_unlock(TEXT("open sesame"), UINT64_MAX, UINT64_MAX));
    OK(valet_wait(VALET_WHEN_UNLOCKED, UINT32_MAX));
    OK(valet_get(closed, TEXT("k"), &options, &secret));
    OK(valet_secret_free(secret));
    OK(valet_close(open));
    OK(valet_close(closed));
}

/* Waiting ends when another thread unlocks, or at the deadline; also in a child of fork. */
void test_waiting(void)
{
    pthread_t thread;
    double begin = seconds();
    CHECK_STATUS(valet_wait(VALET_WHEN_UNLOCKED, 0), VALET_INTERACTION_NOT_ALLOWED);
    CHECK_STATUS(valet_wait(VALET_WHEN_UNLOCKED, 300), VALET_INTERACTION_NOT_ALLOWED);
    CHECK(seconds() - begin >= 0.3 && seconds() - begin < 3);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK_STATUS(valet_wait(VALET_WHEN_UNLOCKED, 100), VALET_INTERACTION_NOT_ALLOWED);
        _exit(0);
    }
    wait_for(child);
    begin = seconds();
    CHECK(pthread_create(&thread, NULL, unlock_soon, NULL) == 0);
    OK(valet_wait(VALET_WHEN_UNLOCKED, 60000));
    CHECK(seconds() - begin < 30);
    CHECK(pthread_join(thread, NULL) == 0);
}
