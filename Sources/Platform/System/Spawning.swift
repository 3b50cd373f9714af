// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// Starts programs: the one place that calls posix_spawn(3). They get no descriptors but 0 to 2,
/// and no signal is blocked in them.
enum Spawning {
    /// Starts a program with these streams, without standard error, and with all signals at their
    /// defaults.
    ///
    /// - Parameters:
    ///   - environment: `NAME=value`.
    ///   - isDetached: Whether it gets a session of its own.
    /// - Returns: 0 or `errno`.
    static func start(
        _ words: [String], _ environment: [String], streams: (input: Int32, output: Int32),
        detached isDetached: Bool, _ child: inout pid_t
    ) -> Int32 {
        let variables = unsafe strings(environment)
        defer { unsafe variables.forEach { unsafe free($0) } }
        return unsafe start(words, variables, streams, detached: isDetached, &child)
    }

    /// Starts a program with the streams of this process, and its environment with `changes`. No
    /// signal is blocked, and SIGPIPE ends it.
    ///
    /// - Returns: 0 or `errno`.
    static func start(
        _ words: [String], changing changes: [String: String], _ child: inout pid_t
    ) -> Int32 {
        let own = unsafe strings(changes.map { "\($0.key)=\($0.value)" })
        defer { unsafe own.forEach { unsafe free($0) } }
        let variables = unsafe inherited(without: Set(changes.keys)) + own
        return unsafe start(words, variables, nil, detached: false, &child)
    }

    private static func start(
        _ words: [String], _ variables: [UnsafeMutablePointer<CChar>?],
        _ streams: (input: Int32, output: Int32)?, detached isDetached: Bool,
        _ child: inout pid_t
    ) -> Int32 {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        if let streams {
            unsafe posix_spawn_file_actions_adddup2(&actions, streams.input, 0)
            unsafe posix_spawn_file_actions_adddup2(&actions, streams.output, 1)
            unsafe posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        }
        unsafe valet_close_from(&actions, 3)

        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe posix_spawnattr_setsigmask(&attributes, &signals)
        // This process ignores SIGPIPE; the program must not inherit that.
        unsafe sigaddset(&signals, SIGPIPE)
        if streams != nil { unsafe sigfillset(&signals) }
        unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
        // POSIX_SPAWN_SETSID, which Swift's view of the C library lacks.
        let session: Int32 = isDetached ? 0x80 : 0
        unsafe posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | session))

        var arguments = unsafe strings(words)
        defer { unsafe arguments.forEach { unsafe free($0) } }
        var variables = unsafe variables
        return unsafe posix_spawn(&child, words[0], &actions, &attributes, &arguments, &variables)
    }

    /// C's form of an array of strings: copies, with a null pointer at the end.
    private static func strings(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
        unsafe texts.map { unsafe strdup($0) } + [nil]
    }

    /// The entries of this process's environment, without those of `names`, whatever their
    /// encoding. The environment stays their owner.
    private static func inherited(
        without names: Set<String>
    ) -> [UnsafeMutablePointer<CChar>?] {
        var found: [UnsafeMutablePointer<CChar>?] = unsafe []
        var entry = unsafe valet_environment()
        while let position = unsafe entry, let text = unsafe position.pointee {
            let isReplaced = names.contains { name in
                unsafe strncmp(text, name + "=", name.utf8.count + 1) == 0
            }
            if !isReplaced { unsafe found.append(text) }
            unsafe entry = position + 1
        }
        return unsafe found
    }
}
