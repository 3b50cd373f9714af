// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// A library that is loaded when it is first needed. Programs that never need it run without it.
///
/// It stays loaded until the process ends, whatever the host application closes: libraries keep
/// threads, and functions that run when a thread ends.
@safe package struct DynamicLibrary {
    /// For functions in C that look for symbols themselves.
    @unsafe package let handle: UnsafeMutableRawPointer

    /// Loads the library of that name; nil if that fails, for example because it is not installed.
    package init?(_ name: String) {
        guard let handle = unsafe dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) else {
            return nil
        }
        unsafe self.handle = handle
    }

    /// The function of that name; nil if the library lacks it.
    ///
    /// Nothing checks that it has the type `F`: a C function, or the bare address of one.
    @unsafe package func function<F>(_ name: String, as type: F.Type = F.self) -> F? {
        guard let address = unsafe dlsym(handle, name) else { return nil }
        return unsafe unsafeBitCast(address, to: F.self)
    }

    /// Calls a variadic function that takes a command and, for this one, no further argument. Does
    /// nothing if the library lacks it.
    package func callVariadic(_ name: String, _ command: Int32) {
        guard let address = unsafe dlsym(handle, name) else { return }
        unsafe valet_call_variadic(address, command)
    }
}

// Sendable because the library stays loaded, and dlsym(3) is safe from every thread.
extension DynamicLibrary: @unchecked Sendable {}
