// SPDX-License-Identifier: Apache-2.0
// What the two kinds of valets that ask the user have in common.

#import <Valet/VALSandbox.h>

NS_ASSUME_NONNULL_BEGIN

/// A sandbox of the keychain for values that require the user's presence: the part that
/// VALSecureEnclaveValet and VALSinglePromptSecureEnclaveValet share.
///
/// Only reading asks the user; storing, replacing, finding and removing values do not. A read waits
/// for the user, at most one minute: do not read on a thread that others wait for. The values never
/// leave the device, exist only while a passcode is set, and can be read only while the keychain is
/// unlocked.
@interface VALEnclaveSandbox : VALSandbox

/// The valet of that identifier, which this application alone can use. Nil for an empty identifier.
+ (instancetype VAL_NULLABLE)valetWithIdentifier:(NSString *)identifier
                                   accessControl:(VALSecureEnclaveAccessControl)accessControl;

/// The valet of the access group `appIDPrefix`.`identifier`, which every application of the group
/// can use. Nil if either is empty.
+ (instancetype VAL_NULLABLE)
    sharedGroupValetWithAppIDPrefix:(NSString *)appIDPrefix
              sharedGroupIdentifier:(NSString *)identifier
                      accessControl:(VALSecureEnclaveAccessControl)accessControl;

/// The valet of an app group. Nil if the identifier is empty, or if the prefix is not `group`.
+ (instancetype VAL_NULLABLE)
    sharedGroupValetWithGroupPrefix:(NSString *)groupPrefix
              sharedGroupIdentifier:(NSString *)identifier
                      accessControl:(VALSecureEnclaveAccessControl)accessControl;

/// How the user authenticates.
@property (nonatomic, readonly) VALSecureEnclaveAccessControl accessControl;

/// Whether the user could meet the access control: NO for the biometric ones if no finger is
/// enrolled. Does not ask the user.
- (BOOL)canMeetAccessControl;

/// The bytes that are stored under `key`. Asks the user, and shows `userPrompt` as the reason. The
/// returned object wipes the bytes when it is deallocated.
///
/// - Errors: VALKeychainErrorUserCancelled if the user declines or cannot authenticate; EmptyKey,
///   ItemNotFound, MissingEntitlement; CouldNotAccessKeychain, also if the user cannot be asked.
- (NSData *VAL_NULLABLE)objectForKey:(NSString *)key
                          withPrompt:(NSString *)userPrompt
                               error:(VAL_ERROR)error;

/// The text that is stored under `key`. Asks the user, and shows `userPrompt` as the reason.
///
/// - Errors: Those of -objectForKey:withPrompt:error:; VALKeychainErrorItemNotFound also if the
///   stored bytes are not UTF-8.
- (NSString *VAL_NULLABLE)stringForKey:(NSString *)key
                            withPrompt:(NSString *)userPrompt
                                 error:(VAL_ERROR)error;

@end

NS_ASSUME_NONNULL_END
