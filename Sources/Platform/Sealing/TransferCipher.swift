// SPDX-License-Identifier: Apache-2.0

package import ValetSystem

/// The arithmetic of `dh-ietf1024-sha256-aes128-cbc-pkcs7` (Secret Service API 0.2, "Transfer of
/// Secrets"), by libgcrypt, else by libcrypto. Nothing that is stored depends on it: it hides
/// secrets from somebody who records the bus.
///
/// The libraries are loaded when they are needed, and the types of their functions are those of
/// their headers.
package enum TransferCipher: Sendable {
    case gcrypt(DynamicLibrary)
    case openSSL(DynamicLibrary)

    /// The first of ``all()``; nil if this system has neither library.
    package static let ofSystem = all().first

    /// The ciphers of all libraries that this system has.
    package static func all() -> [TransferCipher] {
        var found: [TransferCipher] = []
        if let library = DynamicLibrary("libgcrypt.so.20"), Gcrypt.start(library) {
            found.append(.gcrypt(library))
        }
        for name in ["libcrypto.so.3", "libcrypto.so.1.1"] {
            if let library = DynamicLibrary(name) { found.append(.openSSL(library)) }
        }
        return found
    }

    /// base^exponent mod modulus, in as many bytes as the modulus has; nil if the library refuses.
    /// All numbers are big endian.
    package func power(
        _ base: [UInt8], _ exponent: borrowing SecretBytes, _ modulus: [UInt8]
    ) -> SecretBytes? {
        var result = SecretBytes(byteCount: modulus.count)
        let isDone = result.withMutableBytes { result in
            exponent.withBytes { exponent in
                unsafe result.withUnsafeMutableBufferPointer { result in
                    unsafe exponent.withUnsafeBufferPointer { exponent in
                        switch self {
                        case .gcrypt(let library):
                            unsafe Gcrypt.power(library, result, base, exponent, modulus)
                        case .openSSL(let library):
                            unsafe OpenSSL.power(library, result, base, exponent, modulus)
                        }
                    }
                }
            }
        }
        guard isDone else { return nil }
        return result
    }

    /// AES-128 in CBC mode, without padding: `input` has whole blocks. nil if the library refuses.
    package func crypt(
        _ input: borrowing SecretBytes, _ key: borrowing SecretBytes, _ vector: [UInt8],
        isEncrypting: Bool
    ) -> SecretBytes? {
        var output = SecretBytes(byteCount: input.byteCount)
        let isDone = output.withMutableBytes { output in
            input.withBytes { input in
                key.withBytes { key in
                    unsafe output.withUnsafeMutableBufferPointer { output in
                        unsafe input.withUnsafeBufferPointer { input in
                            unsafe key.withUnsafeBufferPointer { key in
                                let buffers = unsafe Buffers(
                                    output: output, input: input, key: key, vector: vector)
                                return switch self {
                                case .gcrypt(let library):
                                    unsafe Gcrypt.crypt(library, buffers, isEncrypting)
                                case .openSSL(let library):
                                    unsafe OpenSSL.crypt(library, buffers, isEncrypting)
                                }
                            }
                        }
                    }
                }
            }
        }
        guard isDone else { return nil }
        return output
    }
}

@unsafe private struct Buffers {
    let output: UnsafeMutableBufferPointer<UInt8>
    let input: UnsafeBufferPointer<UInt8>
    let key: UnsafeBufferPointer<UInt8>
    let vector: [UInt8]
}

private typealias Bytes = UnsafePointer<UInt8>
private typealias MutableBytes = UnsafeMutablePointer<UInt8>

private enum Gcrypt {
    private typealias Scan =
        @convention(c) (
            UnsafeMutablePointer<OpaquePointer?>, Int32, Bytes?, Int, UnsafeMutablePointer<Int>?
        ) -> UInt32
    private typealias Make = @convention(c) (UInt32) -> OpaquePointer?
    private typealias Power =
        @convention(c) (OpaquePointer, OpaquePointer, OpaquePointer, OpaquePointer) -> Void
    private typealias Print =
        @convention(c) (
            Int32, MutableBytes?, Int, UnsafeMutablePointer<Int>, OpaquePointer
        ) -> UInt32
    private typealias Release = @convention(c) (OpaquePointer?) -> Void
    private typealias SetFlag = @convention(c) (OpaquePointer?, Int32) -> Void

    /// GCRYMPI_FMT_USG
    private static let unsigned: Int32 = 5
    /// GCRYCTL_DISABLE_SECMEM_WARN
    private static let disableMemoryWarning: Int32 = 27

    static func start(_ library: DynamicLibrary) -> Bool {
        typealias Check = @convention(c) (UnsafePointer<CChar>?) -> UnsafePointer<CChar>?
        guard let check = unsafe library.function("gcry_check_version", as: Check.self) else {
            return false
        }
        // Without locked memory the library would write a line that names no program.
        // `valet serve` warns in its own words.
        library.callVariadic("gcry_control", disableMemoryWarning)
        // This call initialises the library.
        return unsafe check(nil) != nil
    }

    @unsafe static func power(
        _ library: DynamicLibrary, _ output: UnsafeMutableBufferPointer<UInt8>, _ base: [UInt8],
        _ exponent: UnsafeBufferPointer<UInt8>, _ modulus: [UInt8]
    ) -> Bool {
        guard let scan = unsafe library.function("gcry_mpi_scan", as: Scan.self),
            let make = unsafe library.function("gcry_mpi_snew", as: Make.self),
            let setFlag = unsafe library.function("gcry_mpi_set_flag", as: SetFlag.self),
            let power = unsafe library.function("gcry_mpi_powm", as: Power.self),
            let print = unsafe library.function("gcry_mpi_print", as: Print.self),
            let release = unsafe library.function("gcry_mpi_release", as: Release.self)
        else { return false }
        var numbers: [OpaquePointer?] = unsafe [nil, nil, nil, make(UInt32(modulus.count * 8))]
        defer { unsafe numbers.forEach { unsafe release($0) } }
        guard unsafe scan(&numbers[0], unsigned, base, base.count, nil) == 0,
            unsafe scan(&numbers[1], unsigned, exponent.baseAddress, exponent.count, nil) == 0,
            unsafe scan(&numbers[2], unsigned, modulus, modulus.count, nil) == 0,
            let baseNumber = unsafe numbers[0], let exponentNumber = unsafe numbers[1],
            let modulusNumber = unsafe numbers[2], let result = unsafe numbers[3],
            let start = output.baseAddress
        else { return false }
        // GCRYMPI_FLAG_SECURE: the library wipes the number.
        unsafe setFlag(exponentNumber, 1)
        unsafe power(result, baseNumber, exponentNumber, modulusNumber)
        var count = 0
        // First only its length: the result may have fewer bytes than the modulus.
        guard unsafe print(unsigned, nil, 0, &count, result) == 0, count <= output.count else {
            return false
        }
        let rest = output.count - count
        return unsafe print(unsigned, start + rest, count, &count, result) == 0
    }

    @unsafe static func crypt(
        _ library: DynamicLibrary, _ buffers: Buffers, _ isEncrypting: Bool
    ) -> Bool {
        typealias Make =
            @convention(c) (UnsafeMutablePointer<OpaquePointer?>, Int32, Int32, UInt32) -> UInt32
        typealias Set = @convention(c) (OpaquePointer, Bytes?, Int) -> UInt32
        typealias Crypt = @convention(c) (OpaquePointer, MutableBytes?, Int, Bytes?, Int) -> UInt32
        typealias Close = @convention(c) (OpaquePointer?) -> Void
        let name = isEncrypting ? "gcry_cipher_encrypt" : "gcry_cipher_decrypt"
        guard let make = unsafe library.function("gcry_cipher_open", as: Make.self),
            let setKey = unsafe library.function("gcry_cipher_setkey", as: Set.self),
            let setVector = unsafe library.function("gcry_cipher_setiv", as: Set.self),
            let crypt = unsafe library.function(name, as: Crypt.self),
            let close = unsafe library.function("gcry_cipher_close", as: Close.self)
        else { return false }
        var cipher: OpaquePointer?
        // GCRY_CIPHER_AES128, GCRY_CIPHER_MODE_CBC, GCRY_CIPHER_SECURE
        guard unsafe make(&cipher, 7, 3, 1) == 0, let cipher = unsafe cipher else { return false }
        defer { unsafe close(cipher) }
        return unsafe setKey(cipher, buffers.key.baseAddress, buffers.key.count) == 0
            && setVector(cipher, buffers.vector, buffers.vector.count) == 0
            && crypt(
                cipher, buffers.output.baseAddress, buffers.output.count,
                buffers.input.baseAddress, buffers.input.count) == 0
    }
}

private enum OpenSSL {
    @unsafe static func power(
        _ library: DynamicLibrary, _ output: UnsafeMutableBufferPointer<UInt8>, _ base: [UInt8],
        _ exponent: UnsafeBufferPointer<UInt8>, _ modulus: [UInt8]
    ) -> Bool {
        typealias Read = @convention(c) (Bytes?, Int32, OpaquePointer?) -> OpaquePointer?
        typealias Make = @convention(c) () -> OpaquePointer?
        typealias Power =
            @convention(c) (
                OpaquePointer, OpaquePointer, OpaquePointer, OpaquePointer, OpaquePointer
            ) -> Int32
        typealias Write = @convention(c) (OpaquePointer, MutableBytes?, Int32) -> Int32
        typealias Release = @convention(c) (OpaquePointer?) -> Void
        guard let read = unsafe library.function("BN_bin2bn", as: Read.self),
            let make = unsafe library.function("BN_new", as: Make.self),
            let makeRoom = unsafe library.function("BN_CTX_new", as: Make.self),
            let power = unsafe library.function("BN_mod_exp", as: Power.self),
            let write = unsafe library.function("BN_bn2binpad", as: Write.self),
            let release = unsafe library.function("BN_clear_free", as: Release.self),
            let releaseRoom = unsafe library.function("BN_CTX_free", as: Release.self)
        else { return false }
        let numbers: [OpaquePointer?] = unsafe [
            make(), read(base, Int32(base.count), nil),
            read(exponent.baseAddress, Int32(exponent.count), nil),
            read(modulus, Int32(modulus.count), nil),
        ]
        let madeRoom = unsafe makeRoom()
        defer {
            unsafe numbers.forEach { unsafe release($0) }
            unsafe releaseRoom(madeRoom)
        }
        guard let result = unsafe numbers[0], let baseNumber = unsafe numbers[1],
            let exponentNumber = unsafe numbers[2], let modulusNumber = unsafe numbers[3],
            let room = unsafe madeRoom
        else { return false }
        return unsafe power(result, baseNumber, exponentNumber, modulusNumber, room) == 1
            && write(result, output.baseAddress, Int32(output.count)) == output.count
    }

    @unsafe static func crypt(
        _ library: DynamicLibrary, _ buffers: Buffers, _ isEncrypting: Bool
    ) -> Bool {
        typealias Make = @convention(c) () -> OpaquePointer?
        typealias Begin =
            @convention(c) (
                OpaquePointer, OpaquePointer?, OpaquePointer?, Bytes?, Bytes?, Int32
            ) -> Int32
        typealias SetPadding = @convention(c) (OpaquePointer, Int32) -> Int32
        typealias Update =
            @convention(c) (
                OpaquePointer, MutableBytes?, UnsafeMutablePointer<Int32>, Bytes?, Int32
            ) -> Int32
        typealias Release = @convention(c) (OpaquePointer?) -> Void
        guard let count = unsafe Int32(exactly: buffers.input.count),
            let make = unsafe library.function("EVP_CIPHER_CTX_new", as: Make.self),
            let cipher = unsafe library.function("EVP_aes_128_cbc", as: Make.self),
            let begin = unsafe library.function("EVP_CipherInit_ex", as: Begin.self),
            let setPadding = unsafe library.function(
                "EVP_CIPHER_CTX_set_padding", as: SetPadding.self),
            let update = unsafe library.function("EVP_CipherUpdate", as: Update.self),
            let release = unsafe library.function("EVP_CIPHER_CTX_free", as: Release.self),
            let context = unsafe make()
        else { return false }
        defer { unsafe release(context) }
        var written: Int32 = 0
        return unsafe begin(
            context, cipher(), nil, buffers.key.baseAddress, buffers.vector, isEncrypting ? 1 : 0)
            == 1 && setPadding(context, 0) == 1
            && update(
                context, buffers.output.baseAddress, &written, buffers.input.baseAddress, count)
                == 1
            && written == count
    }
}
