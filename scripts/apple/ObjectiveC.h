// SPDX-License-Identifier: Apache-2.0
// The root class of Apple's Objective-C runtime, as far as the sources of Valet use it.

typedef unsigned long NSUInteger;

__attribute__((objc_root_class)) @interface NSObject
- (nonnull instancetype)init;
- (_Bool)isEqual:(nullable id)object;
@property (readonly) NSUInteger hash;
@end
