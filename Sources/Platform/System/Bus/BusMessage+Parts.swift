// SPDX-License-Identifier: Apache-2.0

internal import Glibc

// The parts of a message, in their order. Functions that read return nil at the end of the message,
// and if the next part has another type. If a part cannot be written, the connection refuses to
// send the whole message.

extension BusMessage {
    /// A string, an object path or a signature; nil for one of more than `maximalByteCount` bytes,
    /// which is not copied.
    package func text(
        _ type: Unicode.Scalar = "s", atMost maximalByteCount: Int = .max
    ) -> String? {
        var text: UnsafePointer<CChar>?
        guard unsafe library.readBasic(handle, letter(type), &text) > 0, let text = unsafe text,
            unsafe strnlen(text, maximalByteCount) < maximalByteCount
                || text[maximalByteCount] == 0
        else { return nil }
        return unsafe String(validatingCString: text)
    }

    /// An unsigned 32-bit integer.
    package func number() -> UInt32? {
        var number: UInt32 = 0
        return unsafe library.readBasic(handle, letter("u"), &number) > 0 ? number : nil
    }

    /// A duplicate of a descriptor, which the caller owns.
    package func descriptor() -> FileDescriptor? {
        var number: Int32 = -1
        guard unsafe library.readBasic(handle, letter("h"), &number) > 0, number >= 0 else {
            return nil
        }
        let copy = FileDescriptor(owning: fcntl(number, F_DUPFD_CLOEXEC, 3))
        guard copy.number >= 0 else { return nil }
        return copy
    }

    /// A boolean.
    package func flag() -> Bool? {
        var number: Int32 = 0
        guard unsafe library.readBasic(handle, letter("b"), &number) > 0 else { return nil }
        return number != 0
    }

    /// Lends an array of bytes. sd-bus wipes those of sensitive messages when they are dropped.
    package func withBytes<R>(_ body: (Span<UInt8>) -> R) -> R? {
        var start: UnsafeRawPointer?
        var count = 0
        guard unsafe library.readArray(handle, letter("y"), &start, &count) >= 0 else {
            return nil
        }
        let bytes = unsafe UnsafeRawBufferPointer(start: start, count: count)
            .assumingMemoryBound(to: UInt8.self)
        return body(unsafe Span(_unsafeElements: bytes))
    }

    /// Passes over parts of these types.
    package func skip(_ types: String) -> Bool { unsafe library.skip(handle, types) >= 0 }

    /// Enters a container, such as ("a", "{sv}"), and leaves it after `body`. Returns false if
    /// there is no such container, or no further one in an array.
    package func inside(_ type: Unicode.Scalar, _ contents: String, _ body: () -> Void) -> Bool {
        guard unsafe library.enterContainer(handle, letter(type), contents) > 0 else {
            return false
        }
        body()
        return unsafe library.exitContainer(handle) >= 0
    }

    /// The elements of an array of strings or paths; nil for more than `maximalCount`.
    package func texts(_ type: Unicode.Scalar, atMost maximalCount: Int) -> [String]? {
        var texts: [String] = []
        let isRead = inside("a", String(type)) {
            while texts.count < maximalCount, let text = text(type) { texts.append(text) }
        }
        return isRead ? texts : nil
    }

    /// The names and values of a dictionary of strings; nil for more than `maximalCount`, or more
    /// than `maximalByteCount` bytes.
    package func pairs(
        atMost maximalCount: Int, byteCount maximalByteCount: Int
    ) -> [(name: String, value: String)]? {
        var (pairs, rest): ([(name: String, value: String)], Int) = ([], maximalByteCount)
        var count = 0
        let isRead = inside("a", "{ss}") {
            while count < maximalCount,
                inside(
                    "e", "ss",
                    {
                        guard let name = text(atMost: rest),
                            let value = text(atMost: rest - name.utf8.count)
                        else { return }
                        rest -= name.utf8.count + value.utf8.count
                        pairs.append((name, value))
                    })
            { count += 1 }
        }
        return isRead && pairs.count == count ? pairs : nil
    }

    /// How many bytes all parts take; nil for more than `maximalCount` parts. Copies nothing.
    package func byteCount(ofAtMost maximalCount: Int) -> Int? {
        var (rest, byteCount) = (maximalCount, 0)
        let isCounted = count(&rest, &byteCount, depth: 0)
        guard unsafe library.serving.rewind(handle, 1) >= 0 else { return nil }
        return isCounted ? byteCount : nil
    }

    /// Counts the parts of the message, or of the container that was entered.
    private func count(_ rest: inout Int, _ byteCount: inout Int, depth: Int) -> Bool {
        // No method takes parts as deep as this.
        guard depth < 16 else { return false }
        while true {
            var type: CChar = 0
            var contents: UnsafePointer<CChar>?
            let code = unsafe library.peekType(handle, &type, &contents)
            guard code != 0 else { return true }
            guard code > 0, rest > 0 else { return false }
            rest -= 1
            if unsafe strchr("sog", Int32(type)) != nil {
                var text: UnsafePointer<CChar>?
                guard unsafe library.readBasic(handle, type, &text) > 0, let text = unsafe text
                else { return false }
                byteCount += unsafe strlen(text)
            } else if let contents = unsafe contents {
                if unsafe type == letter("a") && strcmp(contents, "y") == 0 {
                    guard let count = withBytes({ $0.count }) else { return false }
                    byteCount += count
                    continue
                }
                guard unsafe library.enterContainer(handle, type, contents) > 0,
                    count(&rest, &byteCount, depth: depth + 1),
                    unsafe library.exitContainer(handle) >= 0
                else { return false }
            } else {
                // Numbers, booleans and descriptors have at most eight bytes.
                var number: UInt64 = 0
                guard unsafe library.readBasic(handle, type, &number) > 0 else { return false }
                byteCount += 8
            }
        }
    }

    // MARK: Writing

    /// Appends a string, an object path or a signature.
    package func write(_ text: String, as type: Unicode.Scalar = "s") {
        written.byteCount += text.utf8.count
        _ = unsafe library.appendBasic(handle, letter(type), text)
    }

    package func write(_ flag: Bool) {
        var number: Int32 = flag ? 1 : 0
        _ = unsafe library.appendBasic(handle, letter("b"), &number)
    }

    /// Appends an unsigned 32-bit integer.
    package func write(_ number: UInt32) {
        var number = number
        _ = unsafe library.appendBasic(handle, letter("u"), &number)
    }

    /// Appends an unsigned 64-bit integer.
    package func write(_ number: UInt64) {
        var number = number
        _ = unsafe library.appendBasic(handle, letter("t"), &number)
    }

    /// Appends an array of bytes.
    package func write(_ bytes: Span<UInt8>) {
        written.byteCount += bytes.count
        unsafe bytes.withUnsafeBytes { bytes in
            _ = unsafe library.appendArray(handle, letter("y"), bytes.baseAddress, bytes.count)
        }
    }

    /// Appends an array of that many bytes, which are zero.
    package func write(byteCount: Int) {
        written.byteCount += byteCount
        var start: UnsafeMutableRawPointer?
        guard
            unsafe library.serving.arraySpace(handle, letter("y"), byteCount, &start) >= 0,
            byteCount > 0, let start = unsafe start
        else { return }
        unsafe start.initializeMemory(as: UInt8.self, repeating: 0, count: byteCount)
    }

    /// Ends the writing of a message, and goes to its begin to read it.
    func seal() -> Bool {
        // Nobody answers a reply, so its number may be any but 0.
        unsafe library.serving.seal(handle, 1, 0) >= 0 && library.serving.rewind(handle, 1) >= 0
    }

    /// Puts bytes into the array of the same size that is read next, in a message that was written
    /// here.
    ///
    /// - Returns: false, with nothing changed, if there is no such array.
    package func fill(with bytes: Span<UInt8>) -> Bool {
        var start: UnsafeRawPointer?
        var count = 0
        guard unsafe library.readArray(handle, letter("y"), &start, &count) >= 0,
            count == bytes.count
        else { return false }
        guard let start = unsafe start else { return count == 0 }
        unsafe bytes.withUnsafeBytes { bytes in
            unsafe UnsafeMutableRawPointer(mutating: start).copyMemory(
                from: bytes.baseAddress ?? start, byteCount: count)
        }
        return true
    }

    /// Appends a container with what `body` appends.
    package func write(_ type: Unicode.Scalar, of contents: String, _ body: () -> Void) {
        guard unsafe library.openContainer(handle, letter(type), contents) >= 0 else { return }
        body()
        _ = unsafe library.closeContainer(handle)
    }

    /// Appends a variant with the one value of type `contents` that `body` appends.
    package func write(variant contents: String, _ body: () -> Void) {
        write("v", of: contents, body)
    }

    package func write(_ texts: [String], as type: Unicode.Scalar) {
        write("a", of: String(type)) { for text in texts { write(text, as: type) } }
    }

    package func write(_ pairs: [(name: String, value: String)]) {
        write("a", of: "{ss}") {
            for (name, value) in pairs {
                write("e", of: "ss") {
                    write(name)
                    write(value)
                }
            }
        }
    }

    /// Makes sd-bus wipe the message when it is dropped.
    package func setSensitive() { _ = unsafe library.sensitive(handle) }

    private func letter(_ type: Unicode.Scalar) -> CChar { CChar(truncatingIfNeeded: type.value) }
}
