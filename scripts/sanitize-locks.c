/* SPDX-License-Identifier: Apache-2.0 */
/* Tells ThreadSanitizer of three calls that it cannot see; scripts/sanitize preloads it.

   Swift's Mutex waits in its own library, which is not instrumented, by the futex call itself; and
   sem_clockwait has no interceptor. Each is called as ever, and the edge that it makes is then
   announced. docs/decisions/0015-sanitizers.md. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

/* Absent in the processes around the tests, such as the build tool. */
extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *self
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

static void *next(const char *symbol) {
    void *found = dlsym(RTLD_NEXT, symbol);
    if (!found) abort();
    return found;
}

SWIFT void valet_lock(uint32_t thread, SELF) __asm__(LOCK);
SWIFT void valet_lock(uint32_t thread, SELF) {
    SWIFT void (*real)(uint32_t, SELF) = next(LOCK);
    real(thread, self);
    if (__tsan_acquire) __tsan_acquire(self);
}

SWIFT void valet_unlock(SELF) __asm__(UNLOCK);
SWIFT void valet_unlock(SELF) {
    SWIFT void (*real)(SELF) = next(UNLOCK);
    if (__tsan_release) __tsan_release(self);
    real(self);
}

int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *deadline) {
    int (*real)(sem_t *, clockid_t, const struct timespec *) = next("sem_clockwait");
    int result = real(semaphore, clock, deadline);
    if (result == 0 && __tsan_acquire) __tsan_acquire(semaphore);
    return result;
}
