// SPDX-License-Identifier: Apache-2.0
// The classes of Apple's Foundation that Swift's types become in the Objective-C names of Valet.

#import "ObjectiveC.h"

__attribute__((swift_bridge("Swift.String"))) @interface NSString : NSObject
@end

__attribute__((swift_bridge("Foundation.Data"))) @interface NSData : NSObject
@end

__attribute__((swift_bridge("Swift.Set"))) @interface NSSet<ObjectType> : NSObject
@end

__attribute__((swift_bridge("Swift.Dictionary")))
@interface NSDictionary<KeyType, ObjectType> : NSObject
@end

@interface NSError : NSObject
@end

@interface NSObject (Foundation)
@property (readonly, copy, nonnull) NSString *description;
@end
