// SPDX-License-Identifier: Apache-2.0
#ifndef VALET_CTPM2_SHIM_H
#define VALET_CTPM2_SHIM_H

#include <dlfcn.h>
#include <tss2/tss2_esys.h>
#include <tss2/tss2_mu.h>

/* Nothing here is linked: the libraries are loaded at first use, so that programs start without
   them. The functions that are called, by library: */
#define VALET_ESYS_FUNCTIONS(DO) \
    DO(Esys_Initialize) DO(Esys_Finalize) DO(Esys_Free) DO(Esys_FlushContext) \
    DO(Esys_TR_FromTPMPublic) DO(Esys_TR_Close) DO(Esys_TR_GetName) DO(Esys_TR_SetAuth) \
    DO(Esys_TRSess_SetAttributes) DO(Esys_StartAuthSession) DO(Esys_GetCapability) \
    DO(Esys_CreatePrimary) DO(Esys_Create) DO(Esys_Load) DO(Esys_Unseal) \
    DO(Esys_PolicyPCR) DO(Esys_PolicyGetDigest)
#define VALET_MU_FUNCTIONS(DO) \
    DO(Tss2_MU_TPM2B_PUBLIC_Marshal) DO(Tss2_MU_TPM2B_PUBLIC_Unmarshal) \
    DO(Tss2_MU_TPM2B_PRIVATE_Marshal) DO(Tss2_MU_TPM2B_PRIVATE_Unmarshal)

/* The functions under their own names; their types come from the headers. */
struct valet_tpm_functions {
#define VALET_FIELD(name) __typeof__(name) *name;
    VALET_ESYS_FUNCTIONS(VALET_FIELD)
    VALET_MU_FUNCTIONS(VALET_FIELD)
#undef VALET_FIELD
};

/* Looks up every function, in C, where the type of each comes from its declaration. Returns the
   name of the first that is missing, or NULL. */
static inline const char *valet_find_tpm_functions(
    struct valet_tpm_functions *functions, void *esys, void *mu) {
#define VALET_FIND(library, name) \
    functions->name = (__typeof__(functions->name))dlsym(library, #name); \
    if (!functions->name) return #name;
#define VALET_FIND_IN_ESYS(name) VALET_FIND(esys, name)
#define VALET_FIND_IN_MU(name) VALET_FIND(mu, name)
    VALET_ESYS_FUNCTIONS(VALET_FIND_IN_ESYS)
    VALET_MU_FUNCTIONS(VALET_FIND_IN_MU)
#undef VALET_FIND_IN_MU
#undef VALET_FIND_IN_ESYS
#undef VALET_FIND
    return 0;
}

/* The TCTI context through which ESYS reaches the TPM, with a pointer to its owner. */
struct valet_tcti {
    TSS2_TCTI_CONTEXT_COMMON_V1 common;
    void *owner;
};

#endif
