// SPDX-License-Identifier: Apache-2.0
// How failures of the C library become NSErrors.

#import "VALInternal.h"

NSString *const VALKeychainErrorDomain = @"Valet.KeychainError";
NSString *const VALMigrationResultDomain = @"Valet.MigrationError";
NSString *const VALReasonErrorKey = @"Valet.Reason";

BOOL VALFail(VAL_ERROR error, NSString *domain, NSInteger code, NSString *description)
{
    if (error != NULL) {
        NSDictionary *information = [NSDictionary dictionaryWithObject:description
                                                                forKey:NSLocalizedDescriptionKey];
        *error = [NSError errorWithDomain:domain code:code userInfo:information];
    }
    return NO;
}

static NSError *lastError(void)
{
    valet_error failure = VALET_INIT(valet_error);
    NSMutableDictionary *information = [NSMutableDictionary dictionary];
    NSString *message, *hint;
    if (valet_last_error(&failure) != VALET_OK || failure.status == VALET_OK) {
        failure.domain = VALET_ERROR_KEYCHAIN;
        failure.code = VALKeychainErrorCouldNotAccessKeychain;
    }
    message = [NSString stringWithUTF8String:failure.message];
    hint = [NSString stringWithUTF8String:failure.hint];
    if ([message length] > 0) [information setObject:message forKey:NSLocalizedDescriptionKey];
    if ([hint length] > 0) {
        [information setObject:hint forKey:NSLocalizedRecoverySuggestionErrorKey];
    }
    if (failure.reason != VALET_REASON_OTHER) {
        [information setObject:[NSNumber numberWithInt:failure.reason] forKey:VALReasonErrorKey];
    }
    if (failure.domain == VALET_ERROR_MIGRATION) {
        return [NSError errorWithDomain:VALMigrationResultDomain
                                   code:failure.code
                               userInfo:information];
    }
    [information setObject:[NSError errorWithDomain:NSOSStatusErrorDomain
                                               code:failure.status
                                           userInfo:nil]
                    forKey:NSUnderlyingErrorKey];
    return [NSError errorWithDomain:VALKeychainErrorDomain code:failure.code userInfo:information];
}

BOOL VALSucceeded(valet_status status, VAL_ERROR error)
{
    if (status == VALET_OK) return YES;
    if (error != NULL) *error = lastError();
    return NO;
}
