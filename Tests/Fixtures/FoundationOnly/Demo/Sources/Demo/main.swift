// SPDX-License-Identifier: Apache-2.0

import Foundation
import Wrapper

// Stores, reads and deletes; prints what it found.
let store = Store(service: Bundle.main.bundleIdentifier ?? "demo")
do {
    try store.set("value", for: "key")
    let found = try store.text(for: "key")
    try store.removeAll()
    print(found ?? "nothing", try store.text(for: "key") ?? "nothing")
} catch let error as StoreError {
    print("status \(error.status): \(error.message)")
}
