// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSync
package import ValetSystem

/// Mails, which belong to no circle, and the removal of leftovers.
extension FolderStore {
    private static let day = Duration.seconds(24 * 60 * 60)

    /// Writes a file into the folder of the mailbox. Creates that folder only in an existing
    /// `valet-1`.
    package func post(
        _ mail: StoredMail, to mailbox: MailboxID, by deadline: Deadline
    ) throws(KeychainFailure) {
        precondition(mail.bytes.count <= Mail.maximalByteCount, "bytes within the limit")
        try perform("post a mail", by: deadline) { () throws(SystemError) in
            let folder = try SharedFolder.open(path).folder(Self.top)
                .makeFolder(StoreNames.mailboxes).makeFolder(StoreNames.text(mailbox))
            try write(mail.bytes, as: StoreNames.text(StoreNames.name(of: mail)), in: folder)
            try folder.sync()
        }
    }

    /// Reads the files whose names are those of mails.
    package func mails(
        in mailbox: MailboxID, by deadline: Deadline
    ) throws(KeychainFailure) -> [StoredMail] {
        try perform("read mails", by: deadline) { () throws(SystemError) in
            guard let folder = try mailboxes()?.existing(StoreNames.text(mailbox)) else {
                return []
            }
            var names: [StoredName] = []
            try folder.forEachName { text in
                if let name = StoreNames.name(text, hasHash: true), name.part == nil {
                    names.append(name)
                }
                return names.count < StoreLimits.nameCount
            }
            var mails: [StoredMail] = []
            for step in Mail.Step.allCases {
                let ofStep = names.filter { $0.number == UInt64(step.rawValue) }
                for name in StoreLimits.chosen(of: ofStep) {
                    try deadline.check()
                    let found = try read(name, in: folder, maxByteCount: Mail.maximalByteCount)
                    if case .bytes(let bytes) = found { mails.append(StoredMail(step, bytes)) }
                }
            }
            return mails
        }
    }

    /// Removes the file of a mail, and the mailbox if it is empty then.
    package func delete(
        _ mail: StoredMail, from mailbox: MailboxID, by deadline: Deadline
    ) throws(KeychainFailure) {
        try perform("delete a mail", by: deadline) { () throws(SystemError) in
            guard let mailboxes = try mailboxes(),
                let folder = try mailboxes.existing(StoreNames.text(mailbox))
            else { return }
            try folder.remove(StoreNames.text(StoreNames.name(of: mail)))
            mailboxes.removeFolderIfEmpty(StoreNames.text(mailbox))
        }
    }

    /// Removes mails and temporary files that are older than a day.
    package func removeLeftovers(by deadline: Deadline) throws(KeychainFailure) {
        try perform("remove leftovers", by: deadline) { () throws(SystemError) in
            if let mailboxes = try mailboxes() {
                for mailbox in try ids(in: mailboxes, as: MailboxID.self).map(StoreNames.text) {
                    guard let mails = try mailboxes.existing(mailbox) else { continue }
                    try removeFiles(in: mails, by: deadline, olderThan: Self.day) {
                        StoreNames.isTemporary($0) || StoreNames.name($0, hasHash: true) != nil
                    }
                    mailboxes.removeFolderIfEmpty(mailbox)
                }
            }
            guard let top = try SharedFolder.open(path).existing(Self.top) else { return }
            for circle in try ids(in: top, as: CircleID.self) {
                guard let folder = try top.existing(StoreNames.text(circle)) else { continue }
                try removeTemporaries(in: folder, of: circle, by: deadline)
            }
        }
    }

    private func removeTemporaries(
        in folder: borrowing SharedFolder, of circle: CircleID, by deadline: Deadline
    ) throws(SystemError) {
        let isTemporary = { (name: Span<UInt8>) in StoreNames.isTemporary(name) }
        try removeFiles(in: folder, by: deadline, olderThan: Self.day, isTemporary)
        var places = [StorePlace.roster(circle)]
        for device in try ids(in: folder, as: DeviceID.self) {
            places += try logs(of: device, in: circle, folder).map { .log($0) }
        }
        for place in places {
            // A circle without its mark is left alone.
            guard let files = try? existingFolder(of: place) else { continue }
            try removeFiles(in: files, by: deadline, olderThan: Self.day, isTemporary)
        }
    }

    private func mailboxes() throws(SystemError) -> SharedFolder? {
        guard let top = try SharedFolder.open(path).existing(Self.top) else {
            throw SystemError(.missing, during: "find the folder of circles", path: path)
        }
        return try top.existing(StoreNames.mailboxes)
    }
}
