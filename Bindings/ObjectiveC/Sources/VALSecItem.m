// SPDX-License-Identifier: Apache-2.0
// The keys and values of SecItem queries: the texts of Apple's constants, which are also the names
// that valet_migrate takes.

#import "VALInternal.h"

NSString *const kSecClass = @"class";
NSString *const kSecClassGenericPassword = @"genp";
NSString *const kSecClassInternetPassword = @"inet";
NSString *const kSecClassCertificate = @"cert";
NSString *const kSecClassKey = @"keys";
NSString *const kSecClassIdentity = @"idnt";
NSString *const kSecAttrAccessible = @"pdmn";
NSString *const kSecAttrAccessControl = @"accc";
NSString *const kSecAttrAccessGroup = @"agrp";
NSString *const kSecAttrSynchronizable = @"sync";
NSString *const kSecAttrSynchronizableAny = @"syna";
NSString *const kSecAttrDescription = @"desc";
NSString *const kSecAttrComment = @"icmt";
NSString *const kSecAttrCreator = @"crtr";
NSString *const kSecAttrType = @"type";
NSString *const kSecAttrLabel = @"labl";
NSString *const kSecAttrIsInvisible = @"invi";
NSString *const kSecAttrIsNegative = @"nega";
NSString *const kSecAttrAccount = @"acct";
NSString *const kSecAttrService = @"svce";
NSString *const kSecAttrGeneric = @"gena";
NSString *const kSecAttrAccessibleWhenUnlocked = @"ak";
NSString *const kSecAttrAccessibleAfterFirstUnlock = @"ck";
NSString *const kSecAttrAccessibleAlways = @"dk";
NSString *const kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly = @"akpu";
NSString *const kSecAttrAccessibleWhenUnlockedThisDeviceOnly = @"aku";
NSString *const kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly = @"cku";
NSString *const kSecAttrAccessibleAlwaysThisDeviceOnly = @"dku";
NSString *const kSecMatchLimit = @"m_Limit";
NSString *const kSecMatchLimitOne = @"m_LimitOne";
NSString *const kSecMatchLimitAll = @"m_LimitAll";
NSString *const kSecReturnData = @"r_Data";
NSString *const kSecReturnAttributes = @"r_Attributes";
NSString *const kSecReturnRef = @"r_Ref";
NSString *const kSecReturnPersistentRef = @"r_PersistentRef";
NSString *const kSecUseDataProtectionKeychain = @"nleg";
