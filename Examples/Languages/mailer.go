// SPDX-License-Identifier: Apache-2.0
// Stores a password and reads it back, through valet.h and cgo.

package main

// #include <valet.h>
import "C"

import (
	"fmt"
	"os"
	"unsafe"
)

func check(status C.valet_status) {
	if status != C.VALET_OK {
		fmt.Fprintln(os.Stderr, "the keychain answers with status", status)
		os.Exit(1)
	}
}

func main() {
	name, key := C.CString("Mailer"), C.CString("go")
	password := []byte("correct horse")
	check(C.valet_configure(name, 6, nil, nil, 0))
	mailer := C.valet_description{identifier: name, identifier_length: 6}
	mailer.size, mailer.accessibility = C.sizeof_valet_description, C.VALET_AFTER_FIRST_UNLOCK
	var valet C.valet_t
	var secret C.valet_secret_t
	var bytes *C.uint8_t
	var length C.size_t
	check(C.valet_open(&mailer, &valet))
	check(C.valet_set(valet, key, 2, unsafe.Pointer(&password[0]), C.size_t(len(password)), nil))
	check(C.valet_get(valet, key, 2, nil, &secret))
	check(C.valet_secret_bytes(secret, &bytes))
	check(C.valet_secret_length(secret, &length))
	os.Stdout.Write(unsafe.Slice((*byte)(bytes), int(length)))
	fmt.Println()
	check(C.valet_secret_free(secret)) // The value is wiped.
	check(C.valet_close(valet))
}
