// SPDX-License-Identifier: Apache-2.0
#ifndef VALET_CWORDLIST_SHIM_H
#define VALET_CWORDLIST_SHIM_H

#include <stddef.h>

/* The file words.txt, as data that nothing reads before it is needed. In a function, because Swift
   would import an array as a tuple of as many parts. */
static inline const unsigned char *valet_word_list(size_t *byte_count) {
    static const unsigned char words[] = {
#embed "words.txt"
    };
    *byte_count = sizeof words;
    return words;
}

#endif
