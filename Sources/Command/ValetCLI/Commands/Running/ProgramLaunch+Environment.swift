// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux
internal import ValetSealing
internal import ValetSystem

/// The environment of the program: secrets and paths of files beside the variables of the caller.
extension ProgramLaunch {
    /// Sets a variable.
    ///
    /// - Throws: ``ExitCode/failure`` for a value with a zero byte, which no variable can have.
    mutating func set(_ name: String, to value: Span<UInt8>) throws(CLIError) {
        guard !value.indices.contains(where: { value[$0] == 0 }) else {
            throw CLIError(
                .failure, "the value for the variable \(quoted(name)) has a zero byte",
                hint: "'--file \(name)=REF' passes it in a file")
        }
        set(name, text: value)
    }

    /// Sets a variable to the path of a file in memory.
    ///
    /// The path names the program's process, so that programs which it starts can open the file
    /// even if they have closed its descriptor.
    mutating func set(_ name: String, toFile number: Int32) {
        files.append((name, number))
    }

    mutating func set(_ name: String, text value: Span<UInt8>) {
        let head = Array((name + "=").utf8)
        var text = SecretBytes(byteCount: head.count + value.count + 1)
        text.write(head.span, at: 0)
        text.write(value, at: head.count)
        variables.removeAll { $0.name == name }
        variables.append((name, SecretValue(text)))
    }

    /// The caller's variables that this launch does not replace.
    func inheritedVariables() -> [(name: String, value: SecretValue)] {
        var found: [(name: String, value: SecretValue)] = []
        let own = Set(variables.map(\.name) + files.map(\.name))
        var entry = unsafe valet_environment()
        while let position = unsafe entry, let text = unsafe position.pointee {
            unsafe entry = position + 1
            guard let sign = unsafe strchr(text, 0x3D) else { continue }
            let name = unsafe String(
                decoding: UnsafeRawBufferPointer(start: text, count: sign - text), as: UTF8.self)
            guard !own.contains(name) else { continue }
            let value = unsafe UnsafeRawBufferPointer(start: sign + 1, count: strlen(sign + 1))
            found.append((name, SecretValue(copying: unsafe value.bindMemory(to: UInt8.self).span)))
        }
        return found
    }

    /// Calls `body` with the caller's variables and those of this launch.
    func withEnvironment<R>(
        _ body: ([UnsafeMutablePointer<CChar>?]) -> R
    ) -> R {
        var environment: [UnsafeMutablePointer<CChar>?] = unsafe []
        var entry = unsafe valet_environment()
        while let position = unsafe entry, let text = unsafe position.pointee {
            let isReplaced = variables.contains { variable in
                let name = variable.name
                return unsafe strncmp(text, name, name.utf8.count) == 0
                    && text[name.utf8.count] == CChar(bitPattern: UInt8(ascii: "="))
            }
            if !isReplaced { unsafe environment.append(text) }
            unsafe entry = position + 1
        }
        for variable in variables {
            variable.text.withBytes { bytes in
                unsafe bytes.withUnsafeBufferPointer { buffer in
                    // The memory belongs to `variables`, which outlives this call.
                    let start = unsafe UnsafeMutableRawPointer(mutating: buffer.baseAddress)
                    unsafe environment.append(
                        start?.assumingMemoryBound(to: CChar.self))
                }
            }
        }
        unsafe environment.append(nil)
        return unsafe body(environment)
    }
}
