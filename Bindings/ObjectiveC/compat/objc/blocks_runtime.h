// SPDX-License-Identifier: Apache-2.0
// GNUstep's headers include this where blocks are switched on; Debian has no package with it.

#ifdef __cplusplus
extern "C" {
#endif
extern void *_Block_copy(const void *block);
extern void _Block_release(const void *block);
#ifdef __cplusplus
}
#endif
