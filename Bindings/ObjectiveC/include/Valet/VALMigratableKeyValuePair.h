// SPDX-License-Identifier: Apache-2.0
// The objects that the compactMap block of a migration gets and returns.

#import <Valet/VALTypes.h>

NS_ASSUME_NONNULL_BEGIN

/// The object that a compactMap gets for each item to migrate.
@interface VALMigratableKeyValuePairInput : NSObject {
@private
    id _key;
    NSData *_value;
}

- (instancetype)init VAL_UNAVAILABLE("a migration makes these objects");

/// The account: NSString, NSData or NSNumber.
@property (nonatomic, readonly) id key;
/// The value's bytes.
@property (nonatomic, readonly, copy) NSData *value;

@end

/// The object that a compactMap returns for each item to migrate.
@interface VALMigratableKeyValuePairOutput : NSObject {
@private
    NSString *_key;
    NSData *_value;
    NSError *_valueError;
    BOOL _preventsMigration;
}

- (instancetype)init VAL_UNAVAILABLE("use -initWithKey:value:");

/// A key and bytes.
- (instancetype)initWithKey:(NSString *)key value:(NSData *)value;

/// A key and text, which is stored as UTF-8.
- (instancetype)initWithKey:(NSString *)key stringValue:(NSString *)stringValue;

/// Returned in place of a pair, it ends the migration and leaves the keychain unchanged. The method
/// that migrates returns YES then, and sets no error.
+ (VALMigratableKeyValuePairOutput *)preventMigration;

/// The key to store the value under.
@property (nonatomic, readonly, copy) NSString *key;
/// The bytes to store.
@property (nonatomic, readonly, copy) NSData *value;

@end

#if defined(__BLOCKS__)
/// Returns the key and value to store, nil to leave the item out, or
/// +[VALMigratableKeyValuePairOutput preventMigration].
///
/// It must not call the valets of the migration. An exception that it raises ends the migration,
/// and is raised again by the method that migrates.
typedef VALMigratableKeyValuePairOutput *VAL_NULLABLE (^VALCompactMap)(
    VALMigratableKeyValuePairInput *pair);
#endif

NS_ASSUME_NONNULL_END
