// SPDX-License-Identifier: Apache-2.0
// What the sources of libValetObjC share. Programs do not see it.

#import <GNUstepBase/GNUstep.h>
#import <Valet/Valet.h>
#import <valet.h>

NS_ASSUME_NONNULL_BEGIN

/// The selection of a valet's items, as a factory takes it.
typedef struct VALConfiguration {
    NSString *VAL_NULLABLE identifier;
    NSString *VAL_NULLABLE groupPrefix;
    NSString *VAL_NULLABLE group;
    int32_t kind;
    NSInteger accessibility;
    NSInteger accessControl;
    BOOL isExplicitlySet;
} VALConfiguration;

@interface VALSandbox (VALInternal)

/// The living object of that configuration and class in place of the receiver, or the receiver.
/// Nil if valet_open refuses the configuration.
- (id VAL_NULLABLE)initWithConfiguration:(VALConfiguration)configuration;

/// The autoreleased object of that configuration and class.
+ (id VAL_NULLABLE)sandboxWithConfiguration:(VALConfiguration)configuration;

- (valet_t)handle;
- (NSString *VAL_NULLABLE)givenIdentifier;
- (NSString *VAL_NULLABLE)givenGroupPrefix;
- (NSString *VAL_NULLABLE)givenGroup;

@end

/// Reads, which ask the user if `prompt` is not nil. An empty prompt gives no reason.
@interface VALSandbox (VALReading)

- (NSData *VAL_NULLABLE)readObjectForKey:(NSString *)key
                                  prompt:(NSString *VAL_NULLABLE)prompt
                                   error:(VAL_ERROR)error;
- (NSString *VAL_NULLABLE)readStringForKey:(NSString *)key
                                    prompt:(NSString *VAL_NULLABLE)prompt
                                     error:(VAL_ERROR)error;
- (NSSet *VAL_NULLABLE)readKeysWithPrompt:(NSString *VAL_NULLABLE)prompt error:(VAL_ERROR)error;

@end

@interface VALSandbox (VALPerforming)

/// Migrates from the source that `migration` names. A nil prompt asks nobody.
- (BOOL)perform:(valet_migration)migration
         prompt:(NSString *VAL_NULLABLE)prompt
          error:(VAL_ERROR)error;

@end

@interface VALEnclaveSandbox (VALInternal)

/// Overridden by both kinds.
+ (int32_t)kind;

@end

/// Bytes that are wiped when the object is deallocated.
@interface VALWipedData : NSData {
    void *_bytes;
    NSUInteger _length;
}
@end

/// A handle for a configuration, which the caller closes; NULL if the library refuses it.
valet_t VAL_NULLABLE VALOpen(VALConfiguration configuration);

/// The options of a call that may ask the user, with the UTF-8 of a prompt.
valet_options VALAsking(NSData *VAL_NULLABLE prompt);

/// The UTF-8 of `text`; empty for nil. Nil, with an error, for text that is not valid Unicode. It
/// is wiped with its object.
NSData *VAL_NULLABLE VALUTF8(NSString *VAL_NULLABLE text, VAL_ERROR error);

/// Like VALUTF8; the caller releases the object.
NSData *VAL_NULLABLE VALNewUTF8(NSString *VAL_NULLABLE text, VAL_ERROR error) NS_RETURNS_RETAINED;

/// The text of UTF-8. Nil if the bytes are not UTF-8, or if there is no memory for the text, which
/// `isMemoryShort` tells.
NSString *VAL_NULLABLE VALText(const void *VAL_NULLABLE bytes, size_t length, BOOL *isMemoryShort);

/// Whether a call succeeded. If not, `error` is this thread's last error of the C library.
BOOL VALSucceeded(valet_status status, VAL_ERROR error);

/// Sets an error of this library's own, and returns NO.
BOOL VALFail(VAL_ERROR error, NSString *domain, NSInteger code, NSString *description);

NS_ASSUME_NONNULL_END
