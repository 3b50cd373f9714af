// SPDX-License-Identifier: Apache-2.0
// Stores a password and reads it back, for GNUstep. Bindings/ObjectiveC/test builds and runs it.

#import <Valet/Valet.h>
#import <stdio.h>

int main(void) {
    NSAutoreleasePool *pool = [[NSAutoreleasePool alloc] init];
    NSError *error = nil;
    VALValet *mailer = [VALValet valetWithIdentifier:@"Mailer"
                                       accessibility:VALAccessibilityAfterFirstUnlock];
    [mailer setString:@"correct horse" forKey:@"objective-c" error:&error];
    NSString *password = [mailer stringForKey:@"objective-c" error:&error];
    if (password == nil) NSLog(@"%@; %@", error, [error localizedRecoverySuggestion]);
    puts([password UTF8String] ?: "");
    [pool release];
    return password == nil;
}
