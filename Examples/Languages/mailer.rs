// SPDX-License-Identifier: Apache-2.0
//! Stores a password and reads it back, through the functions of valet.h.

use std::ffi::c_void;
use std::io::Write;
use std::ptr::{null, null_mut};

/// A pointer and a length.
#[repr(C)]
struct Text(*const u8, usize);

/// `valet_description`: its size, identifier, group prefix, group, and four numbers.
#[repr(C)]
struct Description(usize, [Text; 3], [i32; 4]);

extern "C" {
    fn valet_configure(
        name: *const u8, length: usize, groups: *const *const u8, lengths: *const usize, count: usize,
    ) -> i32;
    fn valet_open(description: *const Description, valet: *mut *mut c_void) -> i32;
    fn valet_set(
        valet: *mut c_void, key: *const u8, key_length: usize, value: *const u8, length: usize,
        options: *const c_void,
    ) -> i32;
    fn valet_get(
        valet: *mut c_void, key: *const u8, key_length: usize, options: *const c_void,
        secret: *mut *mut c_void,
    ) -> i32;
    fn valet_secret_bytes(secret: *mut c_void, bytes: *mut *const u8) -> i32;
    fn valet_secret_length(secret: *mut c_void, length: *mut usize) -> i32;
    fn valet_secret_free(secret: *mut c_void) -> i32;
    fn valet_close(valet: *mut c_void) -> i32;
}

fn main() {
    let (name, key, password) = ("Mailer", "rust", "correct horse");
    let texts = [Text(name.as_ptr(), name.len()), Text(null(), 0), Text(null(), 0)];
    // Local, AFTER_FIRST_UNLOCK, no access control, not explicit.
    let mailer = Description(std::mem::size_of::<Description>(), texts, [0, 2, 0, 0]);
    let (mut valet, mut secret, mut bytes, mut length) = (null_mut(), null_mut(), null(), 0);
    let (value, size) = (password.as_ptr(), password.len());
    let ok = |status: i32| assert_eq!(status, 0, "the keychain answers with a status");
    // Safe because every pointer is valid during its call, and the bytes until the secret is freed.
    unsafe {
        ok(valet_configure(name.as_ptr(), name.len(), null(), null(), 0));
        ok(valet_open(&mailer, &mut valet));
        ok(valet_set(valet, key.as_ptr(), key.len(), value, size, null()));
        ok(valet_get(valet, key.as_ptr(), key.len(), null(), &mut secret));
        ok(valet_secret_bytes(secret, &mut bytes));
        ok(valet_secret_length(secret, &mut length));
        std::io::stdout().write_all(std::slice::from_raw_parts(bytes, length)).unwrap();
        println!();
        ok(valet_secret_free(secret)); // The value is wiped.
        ok(valet_close(valet));
    }
}
