#ifndef VALET_CLINUX_SHIM_H
#define VALET_CLINUX_SHIM_H

#include <sys/prctl.h>

/* prctl is variadic, which Swift does not import. */
static inline int valet_set_dumpable(int dumpable) {
    return prctl(PR_SET_DUMPABLE, (unsigned long)dumpable, 0UL, 0UL, 0UL);
}

#endif
