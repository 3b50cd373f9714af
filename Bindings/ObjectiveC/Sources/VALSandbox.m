// SPDX-License-Identifier: Apache-2.0
// The objects of valets, of which each configuration has one, and the calls that ask nobody.

#import "VALInternal.h"

#import <pthread.h>

/// Held wherever the map is touched, and while the last reference to a valet is given up.
static pthread_mutex_t registryLock = PTHREAD_MUTEX_INITIALIZER;

/// The living valets by configuration. It does not keep them alive.
static NSMapTable *registry;

// In a child of fork the thread that holds the lock may not exist. So nobody holds it then.
static void lockRegistry(void)
{
    pthread_mutex_lock(&registryLock);
}

static void unlockRegistry(void)
{
    pthread_mutex_unlock(&registryLock);
}

@implementation VALSandbox

+ (void)initialize
{
    if (self != [VALSandbox class]) return;
    registry =
        NSCreateMapTable(NSObjectMapKeyCallBacks, NSNonOwnedPointerMapValueCallBacks, 16);
    pthread_atfork(lockRegistry, unlockRegistry, unlockRegistry);
}

- (instancetype)init
{
    [self doesNotRecognizeSelector:_cmd];
    return nil;
}

/// Names a configuration byte by byte: texts that look alike may be two names.
static NSData *nameOf(VALConfiguration configuration, Class class)
{
    NSMutableData *name = [NSMutableData data];
    NSString *texts[] = {configuration.identifier, configuration.groupPrefix, configuration.group,
                         NSStringFromClass(class)};
    int64_t numbers[] = {configuration.kind, configuration.accessibility,
                         configuration.accessControl, configuration.isExplicitlySet};
    size_t index;
    [name appendBytes:numbers length:sizeof numbers];
    for (index = 0; index < sizeof texts / sizeof *texts; index++) {
        NSData *text = VALUTF8(texts[index], NULL);
        uint64_t length = [text length];
        if (text == nil) return nil;
        [name appendBytes:&length length:sizeof length];
        [name appendData:text];
    }
    return name;
}

valet_t VALOpen(VALConfiguration configuration)
{
    valet_description description = VALET_INIT(valet_description);
    NSData *identifier = VALUTF8(configuration.identifier, NULL);
    NSData *prefix = VALUTF8(configuration.groupPrefix, NULL);
    NSData *group = VALUTF8(configuration.group, NULL);
    valet_t handle = NULL;
    description.identifier = [identifier bytes];
    description.identifier_length = [identifier length];
    description.group_prefix = [prefix bytes];
    description.group_prefix_length = [prefix length];
    description.group = [group bytes];
    description.group_length = [group length];
    description.kind = configuration.kind;
    description.accessibility = (int32_t)configuration.accessibility;
    description.access_control = (int32_t)configuration.accessControl;
    description.explicitly_set = configuration.isExplicitlySet;
    // Larger numbers must not become valid ones.
    if (description.accessibility != configuration.accessibility
        || description.access_control != configuration.accessControl) {
        return NULL;
    }
    valet_open(&description, &handle);
    return handle;
}

- (BOOL)openWithConfiguration:(VALConfiguration)configuration
{
    _handle = VALOpen(configuration);
    if (_handle == NULL) return NO;
    _identifier = [configuration.identifier copy];
    _group = [configuration.group copy];
    _groupPrefix = [configuration.groupPrefix copy];
    _accessibility = (int32_t)configuration.accessibility;
    _accessControl = (int32_t)configuration.accessControl;
    _kind = configuration.kind;
    return YES;
}

static VALSandbox *newReference(NSData *name, VALSandbox *other) NS_RETURNS_RETAINED;

/// A reference to the living valet of that name; without one to `other`, which is registered then.
///
/// The C library is not called here: it has a lock that every fork takes, perhaps before this one.
static VALSandbox *newReference(NSData *name, VALSandbox *other)
{
    VALSandbox *sandbox;
    lockRegistry();
    sandbox = RETAIN([registry objectForKey:name]);
    if (sandbox == nil && other != nil) {
        sandbox = RETAIN(other);
        [registry setObject:other forKey:name];
    }
    unlockRegistry();
    return sandbox;
}

- (id)initWithConfiguration:(VALConfiguration)configuration
{
    NSData *name = nameOf(configuration, [self class]);
    VALSandbox *sandbox = name == nil ? nil : newReference(name, nil);
    if (sandbox == nil && name != nil && [self openWithConfiguration:configuration]) {
        _configuration = RETAIN(name);
        sandbox = newReference(name, self);
    }
    RELEASE(self);
    return sandbox;
}

+ (id)sandboxWithConfiguration:(VALConfiguration)configuration
{
    return AUTORELEASE([[self alloc] initWithConfiguration:configuration]);
}

/// Gives up a reference. The last one leaves the registry first, so that it hands out no object
/// that is being deallocated.
- (oneway void)release
{
    BOOL isLast;
    lockRegistry();
    isLast = [self retainCount] == 1;
    if (!isLast) {
        [super release];
    } else if (_configuration != nil && [registry objectForKey:_configuration] == self) {
        [registry removeObjectForKey:_configuration];
    }
    unlockRegistry();
    if (isLast) [super release];
}

- (void)dealloc
{
    valet_close(_handle);
    DESTROY(_identifier);
    DESTROY(_groupPrefix);
    DESTROY(_group);
    DESTROY(_configuration);
    DEALLOC
}

- (valet_t)handle
{
    return _handle;
}

- (NSString *)givenIdentifier
{
    return _identifier;
}

- (NSString *)givenGroupPrefix
{
    return _groupPrefix;
}

- (NSString *)givenGroup
{
    return _group;
}

- (BOOL)isEqual:(id)object
{
    int32_t isEqual = 0;
    if (self == object) return YES;
    if (![object isKindOfClass:[VALSandbox class]]) return NO;
    if (((VALSandbox *)object)->_kind != _kind) return NO;
    return valet_is_equal(_handle, [object handle], &isEqual) == VALET_OK && isEqual != 0;
}

/// Equal valets have the same accessibility and access control.
- (NSUInteger)hash
{
    return (NSUInteger)_accessibility * 31 + (NSUInteger)_accessControl;
}

static NSString *nameOfAccessibility(int32_t accessibility)
{
    switch (accessibility) {
    case VALET_WHEN_UNLOCKED: return @"AccessibleWhenUnlocked";
    case VALET_AFTER_FIRST_UNLOCK: return @"AccessibleAfterFirstUnlock";
    case VALET_ALWAYS: return @"AccessibleAlways";
    case VALET_WHEN_UNLOCKED_THIS_DEVICE_ONLY: return @"AccessibleWhenUnlockedThisDeviceOnly";
    case VALET_AFTER_FIRST_UNLOCK_THIS_DEVICE_ONLY:
        return @"AccessibleAfterFirstUnlockThisDeviceOnly";
    case VALET_ALWAYS_THIS_DEVICE_ONLY: return @"AccessibleAlwaysThisDeviceOnly";
    default: return @"AccessibleWhenPasscodeSetThisDeviceOnly";
    }
}

static NSString *nameOfAccessControl(int32_t accessControl)
{
    switch (accessControl) {
    case VALET_BIOMETRIC_ANY: return @"_AccessControlTouchIDAnyFingerprint";
    case VALET_BIOMETRIC_CURRENT_SET: return @"_AccessControlTouchIDCurrentFingerprintSet";
    case VALET_DEVICE_PASSCODE: return @"_AccessControlDevicePasscode";
    default: return @"";
    }
}

static NSString *nameOfKind(int32_t kind)
{
    switch (kind) {
    case VALET_KIND_CLOUD: return @"iCloud";
    case VALET_KIND_SECURE_ENCLAVE: return @"SecureEnclaveValet";
    case VALET_KIND_SINGLE_PROMPT: return @"SinglePromptSecureEnclaveValet";
    default: return @"Valet";
    }
}

/// The identifier, or else the group's full name; the accessibility with the access control; the
/// kind.
- (NSString *)description
{
    NSString *name = _identifier;
    if ([name length] == 0) {
        name = [_groupPrefix length] == 0
            ? _group : [NSString stringWithFormat:@"%@.%@", _groupPrefix, _group];
    }
    return [NSString stringWithFormat:@"%@ %@%@ (%@)", name, nameOfAccessibility(_accessibility),
                                      nameOfAccessControl(_accessControl), nameOfKind(_kind)];
}

- (BOOL)canAccessKeychain
{
    int32_t canAccess = 0;
    return valet_can_access(_handle, NULL, &canAccess) == VALET_OK && canAccess != 0;
}

- (BOOL)setObject:(NSData *)object forKey:(NSString *)key error:(VAL_ERROR)error
{
    NSData *name = VALUTF8(key, error);
    if (name == nil) return NO;
    return VALSucceeded(valet_set(_handle, [name bytes], [name length], [object bytes],
                                  [object length], NULL),
                        error);
}

- (BOOL)setString:(NSString *)string forKey:(NSString *)key error:(VAL_ERROR)error
{
    NSData *bytes = VALNewUTF8(string, error);
    BOOL isStored = bytes != nil && [self setObject:bytes forKey:key error:error];
    RELEASE(bytes);
    return isStored;
}

- (BOOL)containsObjectForKey:(NSString *)key
{
    int32_t contains = 0;
    NSData *name = VALUTF8(key, NULL);
    return name != nil
        && valet_contains(_handle, [name bytes], [name length], NULL, &contains) == VALET_OK
        && contains != 0;
}

- (BOOL)removeObjectForKey:(NSString *)key error:(VAL_ERROR)error
{
    NSData *name = VALUTF8(key, error);
    if (name == nil) return NO;
    return VALSucceeded(valet_remove(_handle, [name bytes], [name length], NULL), error);
}

- (BOOL)removeAllObjectsAndReturnError:(VAL_ERROR)error
{
    return VALSucceeded(valet_remove_all(_handle, NULL), error);
}

@end
