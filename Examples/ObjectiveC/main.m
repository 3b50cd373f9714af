// SPDX-License-Identifier: Apache-2.0
// Stores a secret and reads it. docs/OBJECTIVE-C.md says how to build it.
#import <Valet/Valet.h>
#import <stdio.h>
int main(void)
{
    NSAutoreleasePool *pool = [[NSAutoreleasePool alloc] init];
    NSError *error = nil;
    VALValet *valet = [VALValet valetWithIdentifier:@"Mailer"
                                      accessibility:VALAccessibilityAfterFirstUnlock];
    [valet setString:@"correct horse battery staple" forKey:@"mail-password" error:&error];
    NSString *password = [valet stringForKey:@"mail-password" error:&error];
    puts(password != nil ? [password UTF8String] : [[error localizedDescription] UTF8String]);
    [pool release];
    return password == nil;
}
