// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel

extension Valet {
    /// Keeps a failure as the thread's last one; a miss with a hint where the key is instead.
    ///
    /// Costs a search, and only when a key is missing.
    func keep(_ failure: KeychainFailure, missing key: String) {
        guard Platform.keepsLastFailure, failure.code == .itemNotFound else { return }
        Platform.keep(explained(failure, missing: key))
    }

    /// `failure` with a hint if `key` is stored under the same identifier with another
    /// accessibility.
    func explained(_ failure: KeychainFailure, missing key: String) -> KeychainFailure {
        guard let accessibility = otherAccessibility(of: key) else { return failure }
        return KeychainFailure(
            failure,
            hint: "the key is stored under the same identifier with the accessibility "
                + "\(accessibility)")
    }

    /// One search finds the key wherever it is: services of other accessibilities differ in their
    /// names, explicitly set ones only in the class of their items.
    private func otherAccessibility(of key: String) -> Accessibility? {
        var query = query
        query.protectionClass = nil
        query.attributes = [.account: .text(key)]
        query.limit = 100
        guard let items = try? backend.copy(query, withValues: false) else { return nil }
        return Accessibility.allCases.first { accessibility in
            let service = configuration.service(accessibility.description)
            return accessibility != self.accessibility
                && items.contains { item in
                    item.service == AnyHashable(service)
                        && item.protectionClass == accessibility.protectionClass
                }
        }
    }
}
