// SPDX-License-Identifier: Apache-2.0
// The calls that read values and keys, out of the guarded memory of the C library.

#import "VALInternal.h"

#import <string.h>

valet_options VALAsking(NSData *prompt)
{
    valet_options options = VALET_INIT(valet_options);
    options.flags = VALET_MAY_ASK;
    options.prompt = [prompt bytes];
    options.prompt_length = [prompt length];
    return options;
}

/// Reads a value. The caller frees the secret, to which `bytes` points.
static BOOL readSecret(VALSandbox *sandbox, NSString *key, NSString *prompt, valet_secret_t *secret,
                       const uint8_t **bytes, size_t *length, VAL_ERROR error)
{
    NSData *name = VALUTF8(key, error);
    NSData *reason = VALUTF8(prompt, error);
    valet_options options = VALAsking(reason);
    if (name == nil || reason == nil) return NO;
    if (!VALSucceeded(valet_get([sandbox handle], [name bytes], [name length],
                                prompt == nil ? NULL : &options, secret),
                      error)) {
        return NO;
    }
    if (VALSucceeded(valet_secret_bytes(*secret, bytes), error)
        && VALSucceeded(valet_secret_length(*secret, length), error)) {
        return YES;
    }
    valet_secret_free(*secret);
    return NO;
}

@implementation VALSandbox (VALReading)

- (NSData *)readObjectForKey:(NSString *)key prompt:(NSString *)prompt error:(VAL_ERROR)error
{
    valet_secret_t secret = NULL;
    const uint8_t *bytes = NULL;
    size_t length = 0;
    void *copy;
    if (!readSecret(self, key, prompt, &secret, &bytes, &length, error)) return nil;
    copy = malloc(length);
    if (copy != NULL) memcpy(copy, bytes, length);
    valet_secret_free(secret);
    if (copy == NULL) {
        VALFail(error, VALKeychainErrorDomain, VALKeychainErrorCouldNotAccessKeychain,
                @"no memory for the value");
        return nil;
    }
    return AUTORELEASE([[VALWipedData alloc] initWithBytesNoCopy:copy
                                                          length:length
                                                    freeWhenDone:YES]);
}

- (NSString *)readStringForKey:(NSString *)key prompt:(NSString *)prompt error:(VAL_ERROR)error
{
    valet_secret_t secret = NULL;
    const uint8_t *bytes = NULL;
    size_t length = 0;
    NSString *string;
    BOOL isMemoryShort = NO;
    if (!readSecret(self, key, prompt, &secret, &bytes, &length, error)) return nil;
    string = VALText(bytes, length, &isMemoryShort);
    valet_secret_free(secret);
    if (isMemoryShort) {
        VALFail(error, VALKeychainErrorDomain, VALKeychainErrorCouldNotAccessKeychain,
                @"no memory for the value");
    } else if (string == nil) {
        VALFail(error, VALKeychainErrorDomain, VALKeychainErrorItemNotFound,
                @"the value is not UTF-8");
    }
    return string;
}

- (NSSet *)readKeysWithPrompt:(NSString *)prompt error:(VAL_ERROR)error
{
    NSMutableSet *found = [NSMutableSet set];
    NSData *reason = VALUTF8(prompt, error);
    valet_options options = VALAsking(reason);
    valet_keys_t keys = NULL;
    size_t index, count = 0;
    BOOL isComplete;
    if (reason == nil
        || !VALSucceeded(valet_keys([self handle], prompt == nil ? NULL : &options, &keys),
                         error)) {
        return nil;
    }
    isComplete = VALSucceeded(valet_keys_count(keys, &count), error);
    for (index = 0; index < count && isComplete; index++) {
        const char *text = NULL;
        size_t length = 0;
        isComplete = VALSucceeded(valet_keys_at(keys, index, &text, &length), error);
        if (isComplete) {
            BOOL isMemoryShort = NO;
            NSString *key = VALText(text, length, &isMemoryShort);
            isComplete = key != nil;
            if (isComplete) [found addObject:key];
            else VALFail(error, VALKeychainErrorDomain, VALKeychainErrorCouldNotAccessKeychain,
                         @"no memory for the keys");
        }
    }
    valet_keys_free(keys);
    return isComplete ? found : nil;
}

@end
