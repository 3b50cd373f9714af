// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetDatabase
internal import ValetKeychainModel
internal import ValetSystem

/// Carries out the verbs for clients.
enum ClientsTool {
    /// More than git, docker or the tools of AWS send in one call.
    static let maximumByteCount = 1 << 20

    /// Carries out one verb.
    static func run(
        _ verb: ClientVerb, _ values: ParsedValues, _ context: Context
    ) throws(CLIError) -> ExitCode {
        do {
            // SQLite parses JSON with secrets.
            try Connection.wipeFreedMemory()
        } catch {
            throw CLIError(.failure, "\(error)")
        }
        switch verb {
        case .gitCredential: return try GitCredentials(values, context).run()
        case .dockerCredential: return DockerCredentials.run(values, context)
        case .importItems: return try ImportVerb(values, context).run()
        case .exportItems: return try ExportVerb(values, context).run()
        case .awsGet: try AWSKeys(values, context).write()
        case .awsStore: try AWSKeys(values, context).store()
        case .awsRemove: try AWSKeys(values, context).remove()
        }
        return .success
    }
}
