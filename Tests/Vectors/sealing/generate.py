#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the vectors beside it, from an implementation of its own: nothing here calls libsodium.

BLAKE2b is hashlib's, which is the reference code of BLAKE2's authors. X25519, Ed25519,
XChaCha20-Poly1305 and Argon2id are written below from RFC 7748, RFC 8032,
draft-irtf-cfrg-xchacha-03 and RFC 9106, and are checked against the examples of those texts before
anything is written.
"""
import hashlib
import pathlib
import struct

HERE = pathlib.Path(__file__).parent
OURS = "Tests/Vectors/sealing/generate.py, independent of libsodium"


# X25519, RFC 7748 section 5.
def x25519(scalar, point):
    p, k = 2**255 - 19, bytearray(scalar)
    k[0] &= 248
    k[31] = k[31] & 127 | 64
    k = int.from_bytes(k, "little")
    u = int.from_bytes(point, "little") & (2**255 - 1)
    x2, z2, x3, z3, swap = 1, 0, u, 1, 0
    for t in range(254, -1, -1):
        bit = k >> t & 1
        if swap ^ bit:
            x2, x3, z2, z3 = x3, x2, z3, z2
        swap = bit
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        aa, bb, da, cb = a * a % p, b * b % p, d * a % p, c * b % p
        e = aa - bb
        x3, z3 = (da + cb) ** 2 % p, u * (da - cb) ** 2 % p
        x2, z2 = aa * bb % p, e * (aa + 121665 * e) % p
    if swap:
        x2, z2 = x3, z3
    return (x2 * pow(z2, p - 2, p) % p).to_bytes(32, "little")


BASE = bytes([9]) + bytes(31)


# Ed25519, RFC 8032 section 5.1. A point is (x, y).
Q = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
EDWARDS = -121665 * pow(121666, Q - 2, Q) % Q


def ed_add(left, right):
    (x1, y1), (x2, y2) = left, right
    product = EDWARDS * x1 * x2 * y1 * y2 % Q
    return ((x1 * y2 + x2 * y1) * pow(1 + product, Q - 2, Q) % Q,
            (y1 * y2 + x1 * x2) * pow(1 - product, Q - 2, Q) % Q)


def ed_multiply(scalar, point):
    result = (0, 1)
    while scalar:
        if scalar & 1:
            result = ed_add(result, point)
        point, scalar = ed_add(point, point), scalar >> 1
    return result


def ed_base():
    y = 4 * pow(5, Q - 2, Q) % Q
    square = (y * y - 1) * pow(EDWARDS * y * y + 1, Q - 2, Q) % Q
    x = pow(square, (Q + 3) // 8, Q)
    if x * x % Q != square:
        x = x * pow(2, (Q - 1) // 4, Q) % Q
    return (Q - x if x & 1 else x, y)


def ed_encode(point):
    return (point[1] | (point[0] & 1) << 255).to_bytes(32, "little")


def ed25519(seed, message):
    """The public key of a seed, and its signature of a message."""
    expanded = hashlib.sha512(seed).digest()
    scalar = int.from_bytes(expanded[:32], "little") & ~7 & 2**254 - 1 | 2**254
    public = ed_encode(ed_multiply(scalar, ed_base()))
    modulo = lambda data: int.from_bytes(hashlib.sha512(data).digest(), "little") % ORDER
    nonce = modulo(expanded[32:] + message)
    commitment = ed_encode(ed_multiply(nonce, ed_base()))
    answer = (nonce + modulo(commitment + public + message) * scalar) % ORDER
    return public, commitment + answer.to_bytes(32, "little")


# XChaCha20-Poly1305, RFC 8439 section 2 and draft-irtf-cfrg-xchacha-03 section 2.
def rotate(x, n):
    return (x << n | x >> 32 - n) & 0xFFFFFFFF


def rounds(state):
    s = list(state)
    for i in range(80):
        a, b, c, d = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15), (0, 5, 10, 15),
                      (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))[i % 8]
        for turn in (16, 12), (8, 7):
            s[a] = (s[a] + s[b]) & 0xFFFFFFFF
            s[d] = rotate(s[d] ^ s[a], turn[0])
            s[c] = (s[c] + s[d]) & 0xFFFFFFFF
            s[b] = rotate(s[b] ^ s[c], turn[1])
    return s


def initial(key, last16):
    return struct.unpack("<16I", b"expand 32-byte k" + key + last16)


def chacha20(key, nonce, counter, data):
    out = b""
    for i in range(0, len(data), 64):
        start = initial(key, struct.pack("<I", counter + i // 64) + nonce)
        words = [(a + b) & 0xFFFFFFFF for a, b in zip(start, rounds(start))]
        out += bytes(a ^ b for a, b in zip(data[i:i + 64], struct.pack("<16I", *words)))
    return out


def poly1305(key, message):
    r = int.from_bytes(key[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    total = 0
    for i in range(0, len(message), 16):
        total = (total + int.from_bytes(message[i:i + 16] + b"\1", "little")) * r % (2**130 - 5)
    return ((total + int.from_bytes(key[16:], "little")) % 2**128).to_bytes(16, "little")


def seal(key, nonce, plaintext, data):
    words = rounds(initial(key, nonce[:16]))
    subkey, rest = struct.pack("<8I", *words[:4], *words[12:]), bytes(4) + nonce[16:]
    ciphertext = chacha20(subkey, rest, 1, plaintext)
    pad = lambda x: x + bytes(-len(x) % 16)
    tag = poly1305(chacha20(subkey, rest, 0, bytes(32)),
                   pad(data) + pad(ciphertext) + struct.pack("<QQ", len(data), len(plaintext)))
    return nonce + ciphertext + tag


# crypto_secretstream_xchacha20poly1305, from the documentation of libsodium.
MESSAGE, PUSH, REKEY, FINAL = 0, 1, 2, 3


class Stream:
    def __init__(self, key, header):
        words = rounds(initial(key, header[:16]))
        self.key = struct.pack("<8I", *words[:4], *words[12:])
        self.counter, self.inner = 1, header[16:]

    def push(self, plaintext, data, tag=MESSAGE):
        nonce = struct.pack("<I", self.counter) + self.inner
        block = chacha20(self.key, nonce, 1, bytes([tag]) + bytes(63))
        ciphertext = chacha20(self.key, nonce, 2, plaintext)
        # The padding of the ciphertext is as libsodium has it, not as was meant.
        mac = poly1305(
            chacha20(self.key, nonce, 0, bytes(32)),
            data + bytes(-len(data) % 16) + block + ciphertext + bytes(len(plaintext) % 16)
            + struct.pack("<QQ", len(data), 64 + len(plaintext)))
        self.inner = bytes(a ^ b for a, b in zip(self.inner, mac))
        self.counter = (self.counter + 1) % 2**32
        if tag & REKEY or self.counter == 0:
            nonce = struct.pack("<I", self.counter) + self.inner
            new = chacha20(self.key, nonce, 0, self.key + self.inner)
            self.key, self.inner, self.counter = new[:32], new[32:], 1
        return block[:1] + ciphertext + mac


# Argon2id, RFC 9106 section 3, for one lane or more, version 0x13.
def long_hash(data, size):
    data = struct.pack("<I", size) + data
    if size <= 64:
        return hashlib.blake2b(data, digest_size=size).digest()
    v = hashlib.blake2b(data).digest()
    out = v[:32]
    while size - len(out) > 64:
        v = hashlib.blake2b(v).digest()
        out += v[:32]
    return out + hashlib.blake2b(v, digest_size=size - len(out)).digest()


def permute(v, order):
    m = 2**64 - 1
    for a, b, c, d in ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
                       (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)):
        a, b, c, d = order[a], order[b], order[c], order[d]
        for i, j in (32, 24), (16, 63):
            v[a] = (v[a] + v[b] + 2 * (v[a] & 0xFFFFFFFF) * (v[b] & 0xFFFFFFFF)) & m
            x = v[d] ^ v[a]
            v[d] = (x >> i | x << 64 - i) & m
            v[c] = (v[c] + v[d] + 2 * (v[c] & 0xFFFFFFFF) * (v[d] & 0xFFFFFFFF)) & m
            x = v[b] ^ v[c]
            v[b] = (x >> j | x << 64 - j) & m


def compress(x, y):
    r = [a ^ b for a, b in zip(x, y)]
    q = list(r)
    for i in range(8):
        permute(q, range(16 * i, 16 * i + 16))
    for i in range(8):
        permute(q, [2 * i + 16 * row + k for row in range(8) for k in (0, 1)])
    return [a ^ b for a, b in zip(q, r)]


def argon2id(password, salt, passes, memory, lanes=1, secret=b"", data=b"", size=32):
    h0 = struct.pack("<6I", lanes, size, memory, passes, 0x13, 2)
    for part in password, salt, secret, data:
        h0 += struct.pack("<I", len(part)) + part
    h0 = hashlib.blake2b(h0).digest()
    length = memory // (4 * lanes) * 4
    quarter, unpack = length // 4, lambda b: list(struct.unpack("<128Q", b))
    blocks = [[None] * length for _ in range(lanes)]
    for lane in range(lanes):
        for i in 0, 1:
            blocks[lane][i] = unpack(long_hash(h0 + struct.pack("<II", i, lane), 1024))
    for turn in range(passes * 4 * lanes):
        n, part, lane = turn // (4 * lanes), turn // lanes % 4, turn % lanes
        independent, zero = n == 0 and part < 2, [0] * 128
        for i in range(2 if n == 0 and part == 0 else 0, quarter):
            at = part * quarter + i
            if independent:
                if i % 128 == 0 or (part == 0 and i == 2):
                    count = [n, lane, part, lanes * length, passes, 2, i // 128 + 1] + [0] * 121
                    addresses = compress(zero, compress(zero, count))
                j = addresses[i % 128]
            else:
                j = blocks[lane][at - 1][0]
            j1, j2 = j & 0xFFFFFFFF, j >> 32
            source = lane if n == 0 and part == 0 else j2 % lanes
            done = part * quarter if n == 0 else 3 * quarter
            area = done + (i - 1 if source == lane else -(i == 0))
            relative = area - 1 - (area * (j1 * j1 >> 32) >> 32)
            first = 0 if n == 0 else (part + 1) * quarter % length
            new = compress(blocks[lane][at - 1], blocks[source][(first + relative) % length])
            old = blocks[lane][at]
            blocks[lane][at] = [a ^ b for a, b in zip(new, old)] if n else new
    last = [0] * 128
    for lane in range(lanes):
        last = [a ^ b for a, b in zip(last, blocks[lane][-1])]
    return long_hash(struct.pack("<128Q", *last), size)


# Our own format: keys and states, 1.1 and 1.2.
def lp(*parts):
    return b"".join(struct.pack(">I", len(part)) + part for part in parts)


def h(key, context, *parts):
    return hashlib.blake2b(lp(b"valet/1/" + context, *parts), key=key, digest_size=32).digest()


def wrap(key, kek, kind, chain, epoch, parameters, nonce):
    key_id = h(key, b"key-id")[:16]
    data = lp(b"valet/1/wrap", kind, chain, struct.pack(">Q", epoch), key_id, parameters)
    return b"\1" + key_id + h(kek, b"commit") + seal(kek, nonce, key, data)


def count(start, size):
    return bytes((start + i) % 256 for i in range(size))


def flip(data, index):
    return data[:index] + bytes([data[index] ^ 1]) + data[index + 1:]


def write(name, source, operation, expect, **fields):
    lines = [f"source: {source}", f"expect: {expect}", f"operation: {operation}", ""]
    for field, value in fields.items():
        for one in value if isinstance(value, list) else [value]:
            text = one.hex() if isinstance(one, bytes) else str(one)
            lines.append(f"{field}: {text}".rstrip())
    (HERE / f"{name}.txt").write_text("\n".join(lines) + "\n")


def blake2b_vectors():
    abc = hashlib.blake2b(b"abc").hexdigest()
    assert abc.startswith("ba80a53f981c4d0d6a2797b69f12f6e9"), "RFC 7693 appendix A"
    source = "CPython hashlib.blake2b, the reference code of BLAKE2's authors"
    for size in 0, 1, 127, 128, 129, 255, 256, 257, 1000:
        message = count(0, size)
        digest = hashlib.blake2b(message, key=count(0, 32), digest_size=32).digest()
        write(f"blake2b-keyed-{size}", source, "blake2b", "success", key=count(0, 32),
              message=message, digest=digest)
    for size in 0, 3, 300:
        message = count(1, size)
        write(f"blake2b-unkeyed-{size}", source, "blake2b-unkeyed", "success", message=message,
              digest=hashlib.blake2b(message, digest_size=32).digest())


def hash_vectors():
    cases = {"no-parts": [], "one-part": [b"ak"], "empty-part": [b""], "two-parts": [b"ab", b"c"],
             "two-other-parts": [b"a", b"bc"], "long-part": [count(5, 400), count(9, 16)]}
    for name, parts in cases.items():
        write(f"hash-{name}", OURS, "hash", "success", key=count(32, 32),
              context="valet/1/index", part=parts, message=lp(b"valet/1/index", *parts),
              digest=h(count(32, 32), b"index", *parts))
    key = count(64, 32)
    write("key-id-and-commitment", OURS, "key-id", "success", key=key,
          key_id=h(key, b"key-id")[:16], commitment=h(key, b"commit"))


def aead_vectors():
    plaintext = (b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for "
                 b"the future, sunscreen would be it.")
    fields = dict(key=count(0x80, 32), associated_data=bytes.fromhex("50515253c0c1c2c3c4c5c6c7"))
    nonce = count(0x40, 24)
    sealed = seal(fields["key"], nonce, plaintext, fields["associated_data"])
    assert sealed.hex()[48:].startswith("bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c")
    assert sealed[-16:].hex() == "c0875924c1c7987947deafd8780acf49"
    draft = "draft-irtf-cfrg-xchacha-03 appendix A.3.1"
    fields |= dict(nonce=nonce, plaintext=plaintext)
    write("aead-draft", draft, "aead", "success", **fields, sealed=sealed)
    for name, index in ("nonce", 0), ("ciphertext", 24), ("tag", len(sealed) - 1):
        write(f"aead-flipped-{name}", f"{draft}, one bit changed", "aead", "tampered", **fields,
              sealed=flip(sealed, index))
    other = fields | dict(associated_data=b"")
    write("aead-other-data", f"{draft}, other data", "aead", "tampered", **other, sealed=sealed)
    write("aead-39-bytes", f"{draft}, cut", "aead", "malformed", **fields, sealed=sealed[:39])
    for size in 0, 1, 64, 1000:
        fields = dict(key=count(1, 32), associated_data=count(3, size // 2), nonce=count(7, 24),
                      plaintext=count(11, size))
        sealed = seal(*(fields[name] for name in ("key", "nonce", "plaintext", "associated_data")))
        write(f"aead-{size}-bytes", OURS, "aead", "success", **fields, sealed=sealed)


def wrap_vectors():
    fields = dict(key=count(0, 32), kek=count(100, 32), type="root", keychain=count(200, 16),
                  epoch=7, parameters=b"", nonce=count(50, 24))
    make = lambda f: wrap(f["key"], f["kek"], f["type"].encode(), f["keychain"], f["epoch"],
                          f["parameters"], f["nonce"])
    good = make(fields)
    assert len(good) == 121
    write("wrap-root", OURS, "wrap", "success", **fields, wrapped=good)
    other = fields | dict(type="class", parameters=b"aku", epoch=2**40)
    write("wrap-class", OURS, "wrap", "success", **other, wrapped=make(other))
    for name, change in {"type": dict(type="index"), "keychain": dict(keychain=bytes(16)),
                         "epoch": dict(epoch=8), "parameters": dict(parameters=b"x")}.items():
        write(f"wrap-other-{name}", OURS, "wrap", "tampered", **fields | change, wrapped=good)
    write("wrap-other-kek", OURS, "wrap", "wrong secret", **fields | dict(kek=bytes(32)),
          wrapped=good)
    write("wrap-version-2", OURS, "wrap", "unsupported", **fields, wrapped=b"\2" + good[1:])
    write("wrap-cut", OURS, "wrap", "malformed", **fields, wrapped=good[:-1])
    write("wrap-longer", OURS, "wrap", "malformed", **fields, wrapped=good + b"\0")


def agreement_vectors():
    # Secret, public key, shared secret; section 5.2 twice, then section 6.1.
    alice = "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"
    bob_public = "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"
    cases = {"5.2-first": ("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
                           "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
                           "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552"),
             "5.2-second": ("4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
                            "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
                            "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957"),
             "6.1": (alice, bob_public,
                     "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742")}
    for name, values in cases.items():
        secret, public, shared = map(bytes.fromhex, values)
        assert x25519(secret, public) == shared, name
        write(f"x25519-rfc7748-{name}", "RFC 7748 section " + name.split("-")[0], "x25519",
              "success", secret=secret, public_key=public, shared=shared)
    public = bytes.fromhex("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a")
    assert x25519(bytes.fromhex(alice), BASE) == public
    write("x25519-public-key", "RFC 7748 section 6.1", "public-key", "success",
          secret=bytes.fromhex(alice), public_key=public)
    for name, point in {"zero": bytes(32), "one": b"\1" + bytes(31)}.items():
        write(f"x25519-point-{name}", "RFC 7748 section 6.1, a point of low order", "x25519",
              "malformed", secret=bytes.fromhex(alice), public_key=point)


def public_key_vectors():
    secret, ephemeral, key = count(10, 32), count(60, 32), count(0, 32)
    public, eph = x25519(secret, BASE), x25519(ephemeral, BASE)
    chain, epoch, nonce = count(200, 16), 3, count(50, 24)
    shared = x25519(ephemeral, public)
    tail = (eph, public, chain, struct.pack(">Q", epoch))
    place = dict(secret=secret, ephemeral=ephemeral, keychain=chain, epoch=epoch, nonce=nonce)
    kek = h(shared, b"root-recovery", *tail)
    good = eph + wrap(key, kek, b"root-recovery", chain, epoch, b"", nonce)
    assert len(good) == 153
    write("recovery", OURS, "recovery", "success", **place, key=key, sealed=good)
    bad = {"ephemeral": (flip(good, 0), "wrong secret"), "wrap": (flip(good, 152), "tampered"),
           "ephemeral-zero": (bytes(32) + good[32:], "malformed"), "cut": (good[:-1], "malformed")}
    for name, (sealed, expect) in bad.items():
        write(f"recovery-bad-{name}", OURS, "recovery", expect, **place, key=key, sealed=sealed)
    other = place | dict(secret=count(11, 32))
    write("recovery-other-pair", OURS, "recovery", "wrong secret", **other, key=key, sealed=good)
    value, data = b"a value", b"its place"
    sealed = eph + seal(h(shared, b"presence-value", *tail), nonce, value, data)
    place |= dict(associated_data=data, plaintext=value)
    write("presence-value", OURS, "presence", "success", **place, sealed=sealed)
    write("presence-value-flipped", OURS, "presence", "tampered", **place, sealed=flip(sealed, 60))
    write("presence-value-cut", OURS, "presence", "malformed", **place, sealed=sealed[:71])
    write("presence-value-other-epoch", OURS, "presence", "tampered", **place | dict(epoch=4),
          sealed=sealed)


def stream_vectors():
    header, key = count(150, 24), count(32, 32)
    """Small chunks, of odd sizes, too: what the wrapper of the secretstream must open."""
    parts, data = [b"first", b"", count(3, 200)], b"what they belong to"

    def chunks(tags, header=header, key=key, data=data):
        stream = Stream(key, header)
        return [stream.push(part, data, tag) for part, tag in zip(parts, tags)]

    good = chunks([MESSAGE, MESSAGE, FINAL])
    cases = {
        "good": ("success", good),
        "not-ended": ("success", chunks([MESSAGE, MESSAGE, MESSAGE])),
        "swapped": ("tampered", [good[1], good[0], good[2]]),
        "first-missing": ("tampered", good[1:]),
        "twice": ("tampered", [good[0], good[0]]),
        "other-data": ("tampered", chunks([MESSAGE] * 3, data=b"other")),
        "other-key": ("tampered", chunks([MESSAGE] * 3, key=bytes(32))),
        "other-header": ("tampered", chunks([MESSAGE] * 3, header=bytes(24))),
        "flipped-tag": ("tampered", [flip(good[0], 0)]),
        "flipped-ciphertext": ("tampered", [flip(good[0], 3)]),
        "flipped-mac": ("tampered", [flip(good[0], 21)]),
        "tag-push": ("malformed", chunks([PUSH])),
        "tag-rekey": ("malformed", chunks([REKEY])),
        "tag-7": ("malformed", chunks([7])),
    }
    for name, (expect, sealed) in cases.items():
        write(f"stream-{name}", OURS, "stream", expect, key=key, header=header,
              associated_data=data, plaintext=parts[:len(sealed)], sealed=sealed,
              ends=int(name == "good"))


def argon2id_vectors():
    tag = argon2id(b"\1" * 32, b"\2" * 16, 3, 32, 4, b"\3" * 8, b"\4" * 12)
    assert tag.hex() == "0d640df58d78766c08c037a34a8b53c9d01ef0452d75b65eb52520e96b01e659", \
        "RFC 9106 section 5.3"
    for name, passphrase, passes, memory in (("short", b"correct horse", 1, 8),
                                             ("empty", b"", 2, 64),
                                             ("long", count(0, 200), 3, 300)):
        write(f"argon2id-{name}", OURS + "; its Argon2id reproduces RFC 9106 section 5.3",
              "argon2id", "success", passphrase=passphrase, salt=count(1, 16), passes=passes,
              memory_kib=memory, key=argon2id(passphrase, count(1, 16), passes, memory))


def signing_vectors():
    for number, seed, public, message, start in (
            (1, "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
             "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
             "e5564300c360ac729086e2cc806e828a"),
            (2, "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
             "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
             "92a009a9f0d4cab8720e820b5f642540"),
            (3, "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
             "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
             "6291d657deec24024827e69c3abe01a3")):
        key, signature = ed25519(bytes.fromhex(seed), bytes.fromhex(message))
        assert key.hex() == public and signature.hex().startswith(start)
        write(f"ed25519-rfc8032-7.1-test-{number}", f"RFC 8032 section 7.1, test {number}",
              "ed25519", "success", seed=seed, public_key=key, message=message,
              signature=signature)


if __name__ == "__main__":
    for old in HERE.glob("*.txt"):
        old.unlink()
    blake2b_vectors()
    hash_vectors()
    aead_vectors()
    wrap_vectors()
    agreement_vectors()
    public_key_vectors()
    argon2id_vectors()
    signing_vectors()
    stream_vectors()
