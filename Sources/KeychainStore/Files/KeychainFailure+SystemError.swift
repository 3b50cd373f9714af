// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import ValetKeychainModel
package import ValetSystem

extension KeychainFailure {
    /// What a failure of the files or of SQLite means for `operation`.
    package init(_ error: SystemError, during operation: String) {
        let failure = KeychainFailure(
            error.code.meaning, during: operation, message: error.explanation(during: operation),
            path: error.path,
            hint: error.hint ?? error.hintOnDenial ?? error.code.usualHint)
        self.init(failure, systemError: error.systemError ?? 0)
    }
}

extension KeychainFailure {
    /// Whether all that is known is that the keychain was replaced meanwhile.
    var isOfReplacement: Bool {
        code == .timedOut && message == SystemError.Code.replaced.reason
    }
}

extension SystemError {
    /// What happened in the course of `outer`, without the path: that has a property of its own.
    fileprivate func explanation(during outer: String) -> String {
        // The path says which file or folder, and that is all there is to a wrong one.
        guard code.meaning != .insecureFiles, code != .replaced else { return code.reason }
        let isToldByPath = path != nil && code.isAboutWholeFile
        let step = operation.hasPrefix(outer) || isToldByPath ? "" : "\(operation): "
        let number = sqliteCode.map { ", sqlite \($0)" } ?? ""
        return "\(step)\(code.meaning.explanation)\(number)"
    }
}

extension SystemError {
    /// What helps where the kernel denied access.
    fileprivate var hintOnDenial: String? {
        guard code == .cannotOpen, systemError == EACCES || systemError == EPERM else { return nil }
        return "let user \(geteuid()) read and write it"
    }
}

extension SystemError.Code {
    /// Whether it does not matter at which step it came to light.
    fileprivate var isAboutWholeFile: Bool {
        switch self {
        case .cannotOpen, .missing, .readOnly: true
        case .busy, .diskFull, .inputOutput, .outOfMemory, .corrupt, .notADatabase, .constraint,
            .schemaMismatch, .wrongOwner, .wrongMode, .symbolicLink, .notARegularFile,
            .notADirectory, .unsupportedFileSystem, .alreadyExists, .tooLarge, .misuse, .other,
            .replaced:
            false
        }
    }

    fileprivate var meaning: KeychainFailure.Code {
        switch self {
        case .busy, .replaced: .timedOut
        case .diskFull: .diskFull
        case .readOnly: .readOnly
        case .inputOutput, .cannotOpen, .missing: .inputOutput
        case .outOfMemory: .outOfMemory
        case .corrupt, .notADatabase, .schemaMismatch, .tooLarge: .keychainDamaged
        case .wrongOwner, .wrongMode, .symbolicLink, .notARegularFile, .notADirectory:
            .insecureFiles
        case .unsupportedFileSystem: .unsupportedFileSystem
        case .constraint, .alreadyExists, .misuse, .other: .internalFault
        }
    }

    fileprivate var usualHint: String? {
        switch self {
        case .busy: "another process holds the keychain; `valet doctor` says more"
        case .diskFull: "make room on the disk; nothing was changed"
        case .readOnly: "make the keychain's folder writable, or set VALET_HOME to one that is"
        case .corrupt, .notADatabase, .schemaMismatch: "run `valet doctor`"
        default: nil
        }
    }
}
