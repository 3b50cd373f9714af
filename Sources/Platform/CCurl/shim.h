// SPDX-License-Identifier: Apache-2.0
#ifndef VALET_CCURL_SHIM_H
#define VALET_CCURL_SHIM_H

/* What EtcdStore uses of libcurl. The library is loaded at first use, and a build needs none of its
   headers. The numbers and structures below are libcurl's binary interface, which its name
   libcurl.so.4 guarantees. */

#include <stddef.h>

enum {
    valet_curl_url = 10002,
    valet_curl_proxy = 10004,
    valet_curl_error_text = 10010,
    valet_curl_body = 10015,
    valet_curl_headers = 10023,
    valet_curl_certificate = 10025,
    valet_curl_authority_file = 10065,
    valet_curl_key = 10087,
    valet_curl_authority_folder = 10097,
    valet_curl_no_proxy = 10177,
    valet_curl_receiver_value = 10001,
    valet_curl_receiver_function = 20011,
    valet_curl_ssl_version = 32,
    valet_curl_post = 47,
    valet_curl_follows_redirects = 52,
    valet_curl_body_byte_count = 60,
    valet_curl_verifies_peer = 64,
    valet_curl_verifies_host = 81,
    valet_curl_http_version = 84,
    valet_curl_uses_no_signals = 99,
    valet_curl_no_delay = 121,
    valet_curl_connect_milliseconds = 156,
    valet_curl_protocols = 181,
    valet_curl_keep_alive = 213,
    valet_curl_leaves_resolver = 322,
};

enum {
    valet_curl_failed_to_resolve = 6,
    valet_curl_failed_to_connect = 7,
    valet_curl_failed_to_write = 23,
    valet_curl_timed_out = 28,
    valet_curl_failed_to_secure = 35,
    valet_curl_bad_certificate = 58,
    valet_curl_bad_cipher = 59,
    valet_curl_failed_to_verify = 60,
    valet_curl_bad_authority_file = 77,
};

/* struct CURLMsg; `kind` is 1 for the end of a transfer. */
struct valet_curl_message {
    int kind;
    void *handle;
    union {
        void *pointer;
        int result;
    } data;
};

/* struct curl_waitfd; `events` is 1 for reading. */
struct valet_curl_descriptor {
    int descriptor;
    short events;
    short happened;
};

typedef size_t (*valet_curl_receiver)(char *, size_t, size_t, void *);
typedef int (*valet_curl_variadic)(void *, int, ...);

/* curl_easy_setopt and curl_easy_getinfo are variadic, which Swift cannot call. */
static inline int valet_curl_set_number(void *function, void *handle, int option, long value) {
    return ((valet_curl_variadic)function)(handle, option, value);
}

static inline int valet_curl_set_pointer(
    void *function, void *handle, int option, const void *value) {
    return ((valet_curl_variadic)function)(handle, option, value);
}

static inline int valet_curl_set_receiver(
    void *function, void *handle, valet_curl_receiver receiver) {
    return ((valet_curl_variadic)function)(handle, valet_curl_receiver_function, receiver);
}

/* CURLINFO_RESPONSE_CODE is 0x200002. */
static inline int valet_curl_get_status(void *function, void *handle, long *status) {
    return ((valet_curl_variadic)function)(handle, 0x200002, status);
}

#endif
