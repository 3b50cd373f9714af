// SPDX-License-Identifier: Apache-2.0
// The Objective-C API of Valet 5 for GNUstep. Link -lValetObjC. The names of versions 1 to 4 are in
// Valet/VALLegacyValet.h.

#import <Valet/VALEnclaveSandbox.h>
#import <Valet/VALMigratableKeyValuePair.h>
#import <Valet/VALSandbox.h>
#import <Valet/VALSecItem.h>
#import <Valet/VALSecureEnclaveValet.h>
#import <Valet/VALSinglePromptSecureEnclaveValet.h>
#import <Valet/VALTypes.h>
#import <Valet/VALValet.h>
