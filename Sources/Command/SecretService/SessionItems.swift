// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSystem

/// The items of the collection `session`: in memory alone, until the service ends.
final class SessionItems: SecretItems {
    private struct Contents {
        var items: [UInt64: (record: SecretRecord, value: SecretValue)] = [:]
        var last: UInt64 = 0
    }

    private let contents = Lock(Contents())

    func isLocked() -> Bool { false }

    func ids(having attributes: [String: String]?) -> [String] {
        contents.withLock { contents in
            contents.items.filter { _, item in
                (attributes ?? [:]).allSatisfy { item.record.attributes[$0.key] == $0.value }
            }.keys.sorted().map(String.init)
        }
    }

    func record(of id: String) -> SecretRecord? {
        contents.withLock { contents in UInt64(id).flatMap { contents.items[$0]?.record } }
    }

    func secret(of id: String) -> (value: SecretValue, contentType: String)? {
        contents.withLock { contents in
            UInt64(id).flatMap { contents.items[$0] }.map { ($0.value, $0.record.contentType) }
        }
    }

    func store(
        _ record: SecretRecord, _ value: SecretValue, replacing isReplacing: Bool
    ) -> (id: String, wasThere: Bool) {
        let now = Self.now
        return contents.withLock { contents in
            var record = record
            (record.created, record.modified) = (now, now)
            let same = contents.items.first { $0.value.record.attributes == record.attributes }
            if isReplacing, let (id, old) = same {
                record.created = old.record.created
                contents.items[id] = (record, value)
                return (String(id), true)
            }
            contents.last += 1
            contents.items[contents.last] = (record, value)
            return (String(contents.last), false)
        }
    }

    func change(_ id: String, _ change: SecretChange) -> Bool {
        let now = Self.now
        return contents.withLock { contents in
            guard let id = UInt64(id), var item = contents.items[id] else { return false }
            item.record.label = change.label ?? item.record.label
            item.record.attributes = change.attributes ?? item.record.attributes
            if let secret = change.secret {
                (item.value, item.record.contentType) = (secret.value, secret.contentType)
            }
            item.record.modified = now
            contents.items[id] = item
            return true
        }
    }

    func delete(_ id: String) -> Bool {
        contents.withLock { contents in
            UInt64(id).flatMap { contents.items.removeValue(forKey: $0) } != nil
        }
    }

    private static var now: UInt64 { UInt64(max(0, WallClock.nanoseconds / 1_000_000_000)) }
}
