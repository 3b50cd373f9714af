// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// What a program does to descriptors that are not its own: daemons close everything from 3 on.
enum Closing {
    private static let taken = Mutex<[Int32: UInt64]>([:])

    /// Closes everything from `first` on but the way to who is asking; says how much there was.
    static func closeAll(from first: String) -> String {
        let numbers = open(from: first)
        for number in numbers { close(number) }
        return "\(numbers.count)"
    }

    /// Puts files of its own in the place of everything from `first` on, in `folder`.
    static func takeAll(from first: String, folder: String) throws -> String {
        let numbers = open(from: first)
        for number in numbers {
            let path = "\(folder)/file-\(number)"
            try Data(repeating: 0x78, count: 8192).write(to: URL(fileURLWithPath: path))
            let file = unsafe Foundation.open(path, O_RDWR)
            guard file >= 0, dup2(file, number) == number else {
                throw CocoaError(.fileReadUnknown)
            }
            close(file)
            // A lock that an unlock by a wrong number would take away.
            var lock = flock()
            lock.l_type = Int16(F_WRLCK)
            guard unsafe fcntl(number, F_SETLK, &lock) == 0 else {
                throw CocoaError(.fileReadUnknown)
            }
            taken.withLock { $0[number] = inode(of: number) }
        }
        return "\(numbers.count)"
    }

    /// How many of these files are no longer there, under their numbers.
    static func lostCount() -> String {
        "\(taken.withLock { taken in taken.count { inode(of: $0.key) != $0.value } })"
    }

    private static func open(from first: String) -> [Int32] {
        let channel = CommandLine.arguments.dropFirst().first.flatMap { Int32($0) }
        return (max(3, Int32(first) ?? 3)..<1024).filter { number in
            number != channel && fcntl(number, F_GETFD) != -1
        }
    }

    private static func inode(of number: Int32) -> UInt64? {
        var status = stat()
        return unsafe fstat(number, &status) == 0 ? UInt64(status.st_ino) : nil
    }
}
