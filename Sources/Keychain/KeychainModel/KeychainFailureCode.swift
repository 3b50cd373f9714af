// SPDX-License-Identifier: Apache-2.0

extension KeychainFailure.Code {
    /// No item matches.
    public static let itemNotFound = Self("itemNotFound", status: -25300, "no item matches")
    /// An item with the same primary key exists.
    public static let duplicateItem = Self(
        "duplicateItem", status: -25299, "an item with the same primary key exists")
    /// The request contradicts itself or has a value of a wrong type.
    public static let invalidRequest = Self(
        "invalidRequest", status: -50, "the request is not valid")
    /// The class of the item lacks an attribute that the request names.
    public static let noSuchAttribute = Self(
        "noSuchAttribute", status: -25303,
        "items of this class lack an attribute that the request names")
    /// The request names no class of items that exists.
    public static let noSuchClass = Self(
        "noSuchClass", status: -25306, "there is no such class of items")
    /// The request names an access group that the application does not have.
    public static let missingEntitlement = Self(
        "missingEntitlement", status: -34018, "the application does not have this access group")
    /// This kind of item or operation is not offered.
    public static let unimplemented = Self("unimplemented", status: -4, "not supported")
    /// The item's protection class is not available while the keychain is locked.
    public static let locked = Self("locked", status: -25308, "the keychain is locked")
    /// The user would have to be asked, which is not allowed or not possible.
    public static let interactionNotAllowed = Self(
        "interactionNotAllowed", status: -25308,
        "the user would have to be asked, which is not possible here")
    /// The user did not authenticate.
    public static let authenticationFailed = Self(
        "authenticationFailed", status: -25293, "authentication failed")
    /// The person declined.
    public static let userCancelled = Self("userCancelled", status: -128, "cancelled")
    /// The protection class exists only while a passcode is set.
    public static let passcodeNotSet = Self(
        "passcodeNotSet", status: -25291, "this protection class needs a passcode, and none is set")
    /// The device key is missing, or belongs to another keychain.
    public static let keyUnavailable = Self(
        "keyUnavailable", status: -25291, "the device key is not available")
    /// One of the keychain's two files is missing.
    public static let incomplete = Self(
        "incomplete", status: -25291, "one of the keychain's two files is missing")
    /// The item's row was changed or damaged.
    public static let damaged = Self("damaged", status: -26275, "the item is damaged")
    /// The keychain's database or keybag was changed or damaged.
    public static let keychainDamaged = Self(
        "keychainDamaged", status: -25291, "the keychain is damaged")
    /// A newer version of this library wrote the keychain.
    public static let newerFormat = Self(
        "newerFormat", status: -25291, "the keychain was written by a newer version")
    /// Another process kept the keychain busy until the deadline.
    public static let timedOut = Self("timedOut", status: -25291, "the keychain stayed busy")
    /// The disk or the quota is full.
    public static let diskFull = Self("diskFull", status: -34, "the disk is full")
    /// The system could not read or write.
    public static let inputOutput = Self(
        "inputOutput", status: -36, "the system could not read or write")
    /// The keychain is on a read-only file system or in a read-only folder.
    public static let readOnly = Self("readOnly", status: -25292, "the keychain is read-only here")
    /// The value has another type: text that is not UTF-8, or an empty Boolean.
    public static let invalidEncoding = Self(
        "invalidEncoding", status: -67853, "the value has the wrong encoding")
    /// The value is larger than 16 MiB.
    public static let valueTooLarge = Self(
        "valueTooLarge", status: -25302, "the value is larger than 16 MiB")
    /// A file or folder has a wrong owner, wrong permissions or a link in its place.
    public static let insecureFiles = Self(
        "insecureFiles", status: -25291, "owner, permissions or kind of a file are not safe")
    /// The keychain is on a file system that cannot keep it safe.
    public static let unsupportedFileSystem = Self(
        "unsupportedFileSystem", status: -25291, "the file system cannot keep a keychain safe")
    /// The keychain is protected less than this process requires.
    public static let insufficientProtection = Self(
        "insufficientProtection", status: -25291,
        "the keychain is protected less than the process requires")
    /// No folder for the keychain can be determined.
    public static let noHome = Self("noHome", status: -25291, "no folder for the keychain is known")
    /// There is not enough memory.
    public static let outOfMemory = Self("outOfMemory", status: -108, "out of memory")
    /// A fault of this library.
    public static let internalFault = Self("internalFault", status: -2070, "internal fault")
}

extension KeychainFailure.Code: CustomStringConvertible {
    /// The name of the code.
    public var description: String { rawValue }
}

extension KeychainFailure.Code: CaseIterable {
    /// The codes above. Failures can have others.
    public static let allCases: [KeychainFailure.Code] = [
        .itemNotFound, .duplicateItem, .invalidRequest, .noSuchAttribute, .noSuchClass,
        .missingEntitlement, .unimplemented, .locked, .interactionNotAllowed, .authenticationFailed,
        .userCancelled, .passcodeNotSet, .keyUnavailable, .incomplete, .damaged, .keychainDamaged,
        .newerFormat, .timedOut, .diskFull, .inputOutput, .readOnly, .invalidEncoding,
        .valueTooLarge, .insecureFiles, .unsupportedFileSystem, .insufficientProtection, .noHome,
        .outOfMemory, .internalFault,
    ]
}
