// SPDX-License-Identifier: Apache-2.0
// Migrations into a valet: their sources, and the block that changes the items on their way.

#import "VALInternal.h"

#import <string.h>

/// As many attributes as valet_migrate takes.
enum { maximumAttributeCount = 64 };

@interface VALMigratableKeyValuePairInput (VALInternal)
- (id)initWithPair:(const valet_pair *)pair;
@end

@implementation VALMigratableKeyValuePairInput

@synthesize key = _key, value = _value;

- (instancetype)init
{
    [self doesNotRecognizeSelector:_cmd];
    return nil;
}

- (void)dealloc
{
    DESTROY(_key);
    DESTROY(_value);
    DEALLOC
}

- (id)initWithPair:(const valet_pair *)pair
{
    const valet_attribute *key = &pair->key;
    void *value = malloc(pair->value_length + 1);
    BOOL isMemoryShort = NO;
    if (value == NULL) {
        RELEASE(self);
        [NSException raise:NSMallocException format:@"no memory for a value to migrate"];
    }
    self = [super init];
    switch (key->type) {
    case VALET_VALUE_TEXT:
        _key = RETAIN(VALText(key->value, key->value_length, &isMemoryShort));
        if (_key == nil) {
            free(value);
            RELEASE(self);
            [NSException raise:NSMallocException format:@"no memory for a key to migrate"];
        }
        break;
    case VALET_VALUE_BYTES:
        _key = [[NSData alloc] initWithBytes:key->value length:key->value_length];
        break;
    default: _key = [[NSNumber alloc] initWithLongLong:key->number];
    }
    memcpy(value, pair->value, pair->value_length);
    _value = [[VALWipedData alloc] initWithBytesNoCopy:value
                                                length:pair->value_length
                                          freeWhenDone:YES];
    return self;
}

@end

@interface VALMigratableKeyValuePairOutput (VALInternal)
- (BOOL)preventsMigration;
- (NSError *VAL_NULLABLE)valueError;
@end

@implementation VALMigratableKeyValuePairOutput

@synthesize key = _key, value = _value;

- (instancetype)init
{
    [self doesNotRecognizeSelector:_cmd];
    return nil;
}

- (instancetype)initWithKey:(NSString *)key value:(NSData *)value
{
    self = [super init];
    if (self != nil) {
        _key = [key copy];
        _value = [value copy];
    }
    return self;
}

- (instancetype)initWithKey:(NSString *)key stringValue:(NSString *)stringValue
{
    NSError *error = nil;
    NSData *value = VALUTF8(stringValue, &error);
    self = [self initWithKey:key value:value];
    if (self != nil && value == nil) _valueError = RETAIN(error);
    return self;
}

+ (VALMigratableKeyValuePairOutput *)preventMigration
{
    VALMigratableKeyValuePairOutput *output =
        [[VALMigratableKeyValuePairOutput alloc] initWithKey:@"" value:[NSData data]];
    output->_preventsMigration = YES;
    return AUTORELEASE(output);
}

- (void)dealloc
{
    DESTROY(_key);
    DESTROY(_value);
    DESTROY(_valueError);
    DEALLOC
}

- (BOOL)preventsMigration
{
    return _preventsMigration;
}

/// Why the text that was given as the value has no UTF-8; nil if it has.
- (NSError *)valueError
{
    return _valueError;
}

@end

@implementation VALSandbox (VALPerforming)

- (BOOL)perform:(valet_migration)migration prompt:(NSString *)prompt error:(VAL_ERROR)error
{
    NSData *reason = VALUTF8(prompt, error);
    valet_options options = VALAsking(reason);
    if (reason == nil) return NO;
    return VALSucceeded(
        valet_migrate([self handle], &migration, prompt == nil ? NULL : &options), error);
}

@end

@implementation VALSandbox (VALMigrations)

/// Whether a number has no fraction, and is one of the numbers that an attribute can have.
static BOOL isWhole(NSNumber *number)
{
    char type = *[number objCType];
    if (strchr("fd", type) != NULL) return NO;
    return strchr("QL", type) == NULL || [number unsignedLongLongValue] <= INT64_MAX;
}

/// Fills `attribute` from an entry of a query. NO for a key or a value of another type than text,
/// bytes and whole numbers.
static BOOL fillAttribute(valet_attribute *attribute, id key, id value)
{
    NSData *name = [key isKindOfClass:[NSString class]] ? VALUTF8(key, NULL) : nil;
    NSData *bytes = nil;
    if ([value isKindOfClass:[NSString class]]) {
        attribute->type = VALET_VALUE_TEXT;
        bytes = VALUTF8(value, NULL);
    } else if ([value isKindOfClass:[NSData class]]) {
        attribute->type = VALET_VALUE_BYTES;
        bytes = value;
    } else if ([value isKindOfClass:[NSNumber class]] && isWhole(value)) {
        attribute->type = VALET_VALUE_NUMBER;
        attribute->number = [value longLongValue];
        bytes = [NSData data];
    }
    attribute->name = [name bytes];
    attribute->name_length = [name length];
    attribute->value = [bytes bytes];
    attribute->value_length = [bytes length];
    return name != nil && bytes != nil;
}

- (BOOL)perform:(valet_migration)migration
       matching:(NSDictionary *)query
          error:(VAL_ERROR)error
{
    valet_attribute attributes[maximumAttributeCount];
    NSEnumerator *keys = [query keyEnumerator];
    size_t count = 0;
    id key;
    memset(attributes, 0, sizeof attributes);
    if (![[query objectForKey:kSecClass] isEqual:kSecClassGenericPassword]
        || [query objectForKey:kSecAttrAccessControl] != nil) {
        return VALFail(error, VALMigrationResultDomain, VALMigrationResultInvalidQuery,
                       @"the query is not for generic passwords, or names an access control");
    }
    while ((key = [keys nextObject]) != nil) {
        if (count == maximumAttributeCount) {
            return VALFail(error, VALMigrationResultDomain, VALMigrationResultInvalidQuery,
                           @"the query has more than 64 attributes");
        }
        if (!fillAttribute(&attributes[count++], key, [query objectForKey:key])) {
            NSString *description = [NSString
                stringWithFormat:@"the query's value of %@ is not text, bytes or a whole number",
                                 key];
            return VALFail(error, VALKeychainErrorDomain, VALKeychainErrorCouldNotAccessKeychain,
                           description);
        }
    }
    migration.attributes = attributes;
    migration.attribute_count = count;
    migration.attribute_size = sizeof *attributes;
    return [self perform:migration prompt:nil error:error];
}

- (BOOL)migrateObjectsMatching:(NSDictionary *)query
            removeOnCompletion:(BOOL)removeOnCompletion
                         error:(VAL_ERROR)error
{
    valet_migration migration = VALET_INIT(valet_migration);
    migration.remove_on_completion = removeOnCompletion;
    return [self perform:migration matching:query error:error];
}

- (BOOL)migrateObjectsFrom:(VALValet *)valet
        removeOnCompletion:(BOOL)removeOnCompletion
                     error:(VAL_ERROR)error
{
    valet_migration migration = VALET_INIT(valet_migration);
    migration.from = [valet handle];
    migration.remove_on_completion = removeOnCompletion;
    return [self perform:migration prompt:nil error:error];
}

@end

@implementation VALValet (VALMigrations)

- (BOOL)migrateRetired:(int32_t)retired removing:(BOOL)removing error:(VAL_ERROR)error
{
    valet_migration migration = VALET_INIT(valet_migration);
    migration.retired = retired;
    migration.remove_on_completion = removing;
    return [self perform:migration prompt:nil error:error];
}

- (BOOL)migrateObjectsFromAlwaysAccessibleValetWithRemoveOnCompletion:(BOOL)removeOnCompletion
                                                                error:(VAL_ERROR)error
{
    return [self migrateRetired:VALET_ALWAYS removing:removeOnCompletion error:error];
}

- (BOOL)migrateObjectsFromAlwaysAccessibleThisDeviceOnlyValetWithRemoveOnCompletion:
            (BOOL)removeOnCompletion
        error:(VAL_ERROR)error
{
    return [self migrateRetired:VALET_ALWAYS_THIS_DEVICE_ONLY
                       removing:removeOnCompletion
                          error:error];
}

#if defined(__BLOCKS__)

/// A block during its migration, and how it ended the migration, if it did.
typedef struct {
    void *block;
    void *output;
    void *name;
    void *exception;
    void *error;
    BOOL isPrevented;
} Mapping;

#define HELD(object) ((void *)[(object) retain])
#define GIVEN_UP(pointer) [(id)(pointer) autorelease]
#define BLOCK(pointer) ((VALCompactMap)(pointer))
#define POINTER(block) ((void *)(block))

/// Lets go of the pair that was handed over last.
static void forgetOutput(Mapping *mapping)
{
    if (mapping->output != NULL) (void)GIVEN_UP(mapping->output);
    if (mapping->name != NULL) (void)GIVEN_UP(mapping->name);
    mapping->output = mapping->name = NULL;
}

/// Ends the migration because a pair has a text that is not valid Unicode, or too long.
static int32_t refuseText(Mapping *mapping, VALMigrationResult result, NSError *reason)
{
    NSError *error = nil;
    VALFail(&error, VALMigrationResultDomain, result, [reason localizedDescription]);
    mapping->error = HELD(error);
    return VALET_PAIR_STOP;
}

static int32_t changePair(Mapping *mapping, valet_pair *pair)
{
    VALMigratableKeyValuePairInput *input =
        AUTORELEASE([[VALMigratableKeyValuePairInput alloc] initWithPair:pair]);
    VALMigratableKeyValuePairOutput *output = BLOCK(mapping->block)(input);
    NSError *error = nil;
    NSData *name;
    if (output == nil) return VALET_PAIR_SKIP;
    mapping->isPrevented = [output preventsMigration];
    if (mapping->isPrevented) return VALET_PAIR_STOP;
    name = VALUTF8([output key], &error);
    if (name == nil) return refuseText(mapping, VALMigrationResultKeyToMigrateInvalid, error);
    error = [output valueError];
    if (error != nil) return refuseText(mapping, VALMigrationResultDataToMigrateInvalid, error);
    mapping->output = HELD(output);
    mapping->name = HELD(name);
    pair->key.type = VALET_VALUE_TEXT;
    pair->key.value = [name bytes];
    pair->key.value_length = [name length];
    pair->value = [[output value] bytes];
    pair->value_length = [[output value] length];
    return VALET_PAIR_KEEP;
}

static int32_t map(void *context, valet_pair *pair)
{
    Mapping *mapping = context;
    int32_t answer = VALET_PAIR_STOP;
    ENTER_POOL
    forgetOutput(mapping);
    // An exception must not unwind through the library.
    @try {
        answer = changePair(mapping, pair);
    } @catch (id exception) {
        mapping->exception = HELD(exception);
    }
    LEAVE_POOL
    return answer;
}

/// Performs a migration from `query`, or from the source in `migration` if it is nil.
- (BOOL)perform:(valet_migration)migration
       matching:(NSDictionary *)query
     compactMap:(VALCompactMap)compactMap
          error:(VAL_ERROR)error
{
    Mapping mapping = {POINTER(compactMap), NULL, NULL, NULL, NULL, NO};
    NSError *failure = nil;
    BOOL isDone;
    if (compactMap == nil) {
        [NSException raise:NSInvalidArgumentException format:@"a migration without its compactMap"];
    }
    migration.map = map;
    migration.context = &mapping;
    isDone = query == nil ? [self perform:migration prompt:nil error:&failure]
                          : [self perform:migration matching:query error:&failure];
    forgetOutput(&mapping);
    if (mapping.exception != NULL) @throw GIVEN_UP(mapping.exception);
    if (mapping.error != NULL) failure = GIVEN_UP(mapping.error);
    if (isDone || mapping.isPrevented) return YES;
    if (error != NULL) *error = failure;
    return NO;
}

- (BOOL)migrateObjectsMatching:(NSDictionary *)query
                    compactMap:(VALCompactMap)compactMap
                         error:(VAL_ERROR)error
{
    valet_migration migration = VALET_INIT(valet_migration);
    NSDictionary *given = query == nil ? [NSDictionary dictionary] : query;
    return [self perform:migration matching:given compactMap:compactMap error:error];
}

- (BOOL)migrateObjectsFrom:(VALValet *)valet
                compactMap:(VALCompactMap)compactMap
                     error:(VAL_ERROR)error
{
    valet_migration migration = VALET_INIT(valet_migration);
    migration.from = [valet handle];
    return [self perform:migration matching:nil compactMap:compactMap error:error];
}
#endif

@end
