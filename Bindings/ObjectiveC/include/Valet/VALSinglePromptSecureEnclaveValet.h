// SPDX-License-Identifier: Apache-2.0
// Valets that ask the user once.

#import <Valet/VALEnclaveSandbox.h>

NS_ASSUME_NONNULL_BEGIN

/// A sandbox of the keychain for values that require the user's presence once.
///
/// The first read asks the user. The answer counts for every later read of this object, until
/// -requirePromptOnNextAccess. It does not count for -containsObjectForKey:.
@interface VALSinglePromptSecureEnclaveValet : VALEnclaveSandbox

/// Makes the next read ask the user. Ends an open question as a failed authentication.
- (void)requirePromptOnNextAccess;

/// The keys under which something is stored; an empty set if there are none. Asks the user, unless
/// an earlier answer still counts or nothing is stored.
///
/// - Errors: VALKeychainErrorUserCancelled, MissingEntitlement, CouldNotAccessKeychain.
- (GS_GENERIC_CLASS(NSSet, NSString *) *VAL_NULLABLE)
    allKeysWithUserPrompt:(NSString *)userPrompt
                    error:(VAL_ERROR)error;

@end

NS_ASSUME_NONNULL_END
