#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the vectors of docs/FORMAT.md sections 4.2, 4.5 and 4.6: keybags with a passcode, keybags
with a recovery key, and what people type as one.

Everything but Argon2id is that of ../keybag/generate.py and ../sealing/generate.py. Argon2id at
64 MiB takes those minutes, so this takes argon2-cffi (`pip install argon2-cffi`), the reference
code of its authors, and compares the two at a lower cost first.
"""
import hashlib
import importlib.util
import pathlib
import unicodedata

from argon2.low_level import Type, hash_secret_raw

VECTORS = pathlib.Path(__file__).parent.parent
OURS = "Tests/Vectors/passcode/generate.py, from docs/FORMAT.md alone"

spec = importlib.util.spec_from_file_location("keybag", VECTORS / "keybag" / "generate.py")
base = importlib.util.module_from_spec(spec)
spec.loader.exec_module(base)
sealing, lp, h, wrap, count, flip, u32, u8 = (
    base.sealing, base.lp, base.h, base.wrap, base.count, base.flip, base.u32, base.u8)
D, KC, ROOT, KDEV, EPOCH = base.D, base.KC, base.ROOT, base.KDEV, base.EPOCH
CODES = base.CODES | {7: "akpu"}
CLASS_KEYS = base.CLASS_KEYS | {7: count(97 + 7 * 7, 32)}
SALT, MEMORY, PASSES = count(150, 16), 65536, 3


def stretch(passcode, salt=SALT, memory=MEMORY, passes=PASSES):
    return hash_secret_raw(passcode, salt, passes, memory, 1, 32, Type.ID)


assert stretch(b"abc", SALT, 32, 2) == sealing.argon2id(b"abc", SALT, 2, 32)


def write(area, name, expect, **fields):
    base.OURS = OURS
    base.write(area, name, expect, **fields)


# Sections 4.2 and 4.5.
def argon2(salt=SALT, memory=MEMORY, passes=PASSES, lanes=1):
    return salt + u32(memory) + u32(passes) + u8(lanes)


def passcode_records(passcode, argon2_=argon2(), parameters=None, akpu=b"class-kek-passcode"):
    out = base.records()
    del out[0x0101]
    kpass = h(D, b"passcode-kek", KC, stretch(passcode))
    out[0x0102] = wrap(ROOT, kpass, b"root", KC, EPOCH,
                       argon2_ if parameters is None else parameters, count(3, 24))
    out[0x0110] = argon2_
    parts = (KDEV, kpass) if akpu == b"class-kek-passcode" else (KDEV,)
    out[0x0207] = wrap(CLASS_KEYS[7], h(ROOT, akpu, b"akpu", *parts), b"class", KC, EPOCH,
                       b"akpu", count(5, 24))
    return dict(sorted(out.items()))


def with_recovery(records, public, ephemeral=count(17, 32)):
    eph, shared = sealing.x25519(ephemeral, sealing.BASE), sealing.x25519(ephemeral, public)
    kek = h(shared, b"root-recovery", eph, public, KC, base.u64(EPOCH))
    sealed = eph + wrap(ROOT, kek, b"root-recovery", KC, EPOCH, b"", count(7, 24))
    return dict(sorted((records | {0x0104: sealed, 0x0130: public}).items()))


def keybag(records, protector=2, **more):
    return base.keybag(list(records.items()), protector=protector, **more)


def expected(numbers):
    return dict(
        keychain=KC, epoch=EPOCH, index=base.INDEX, protection=list(numbers),
        key_id=[base.key_id(CLASS_KEYS[n]) for n in numbers],
        attributes_subkey=[h(CLASS_KEYS[n], b"seal-attributes") for n in numbers],
        value_subkey=[h(CLASS_KEYS[n], b"seal-value") for n in numbers])


def without(records, *tags):
    return {tag: body for tag, body in records.items() if tag not in tags}


def passcode_vectors():
    ascii_ = b"correct horse"
    umlauts = unicodedata.normalize("NFC", "gr\u00fc\u00dfe \u2713 ").encode()
    good = passcode_records(ascii_)
    device, public = base.records(), pair(SEED)[1]
    recoverable = with_recovery(passcode_records(umlauts), public)
    mac = keybag(good)[-32:]
    change = lambda tag, body: keybag(dict(sorted((good | {tag: body}).items())))
    cost = lambda **other: keybag(passcode_records(ascii_, argon2(**other)))
    cases = {
        "good": ("success", keybag(good), ascii_),
        "good-recovery-key": ("success", keybag(recoverable), umlauts),
        "wrong-passcode": ("wrong passcode", keybag(good), b"correct horsf"),
        "wrong-passcode-other-case": ("wrong passcode", keybag(good), b"Correct horse"),
        "wrong-passcode-trimmed": ("wrong passcode", keybag(recoverable), umlauts.rstrip()),
        "wrong-passcode-decomposed": ("wrong passcode", keybag(recoverable), unicodedata.normalize(
            "NFD", umlauts.decode()).encode()),
        "wrong-keychain": ("wrong passcode", keybag(good, chain=bytes(16)), ascii_),
        "salt-flipped": ("wrong passcode", change(0x0110, flip(argon2(), 0)), ascii_),
        "passes-raised": ("wrong passcode", change(0x0110, argon2(passes=4)), ascii_),
        "commitment-flipped": ("wrong passcode", change(0x0102, flip(good[0x0102], 17)), ascii_),
        "root-key-id-flipped": ("tampered", change(0x0102, flip(good[0x0102], 1)), ascii_),
        "root-flipped": ("tampered", change(0x0102, flip(good[0x0102], 80)), ascii_),
        "root-without-parameters": ("tampered", keybag(
            passcode_records(ascii_, parameters=b"")), ascii_),
        "root-of-another-cost": ("tampered", keybag(
            passcode_records(ascii_, parameters=argon2(passes=4))), ascii_),
        "akpu-without-passcode-key": ("tampered", keybag(
            passcode_records(ascii_, akpu=b"class-kek-device")), ascii_),
        "recovery-key-added": ("tampered", keybag(with_recovery(good, public), mac=mac), ascii_),
        "recovery-key-removed": ("tampered", keybag(
            good, mac=keybag(with_recovery(good, public))[-32:]), ascii_),
        "other-epoch": ("tampered", keybag(good, epoch=2), ascii_),
        "device-protector": ("needs protector", keybag(device, protector=1), ascii_),
        "memory-too-small": ("malformed", cost(memory=65535), ascii_),
        "memory-too-large": ("malformed", cost(memory=1048577), ascii_),
        "memory-0": ("malformed", cost(memory=0), ascii_),
        "passes-too-few": ("malformed", cost(passes=2), ascii_),
        "passes-too-many": ("malformed", cost(passes=65), ascii_),
        "lanes-0": ("malformed", cost(lanes=0), ascii_),
        "lanes-2": ("malformed", cost(lanes=2), ascii_),
        "argon2-cut": ("malformed", change(0x0110, argon2()[:-1]), ascii_),
        "argon2-longer": ("malformed", change(0x0110, argon2() + b"\0"), ascii_),
        "argon2-missing": ("malformed", keybag(without(good, 0x0110)), ascii_),
        "root-missing": ("malformed", keybag(without(good, 0x0102)), ascii_),
        "akpu-missing": ("malformed", keybag(without(good, 0x0207)), ascii_),
        "root-for-the-device-too": ("malformed", change(0x0101, device[0x0101]), ascii_),
        "root-for-the-tpm-too": ("malformed", change(0x0103, good[0x0102]), ascii_),
        "tpm-objects": ("malformed", change(0x0120, lp(b"", b"", b"", b"")), ascii_),
        "recovery-public-key-alone": ("malformed", change(0x0130, public), ascii_),
        "recovery-wrap-alone": ("malformed", keybag(without(recoverable, 0x0130)), umlauts),
        "recovery-public-key-cut": ("malformed", keybag(
            recoverable | {0x0130: public[:-1]}), umlauts),
        "device-akpu": ("malformed", keybag(
            dict(sorted((device | {0x0207: good[0x0207]}).items())), protector=1), ascii_),
        "device-argon2": ("malformed", keybag(
            dict(sorted((device | {0x0110: argon2()}).items())), protector=1), ascii_),
        "device-root-by-passcode": ("malformed", keybag(
            dict(sorted((device | {0x0102: good[0x0102]}).items())), protector=1), ascii_),
        "source-tpm-without-objects": ("malformed", keybag(good, source=2), ascii_),
        "protector-3": ("malformed", keybag(good, protector=3), ascii_),
    }
    for name, (expect, bytes_, passcode) in cases.items():
        fields = dict(secret=D, passcode=passcode, settings=base.settings(), keybag=bytes_)
        if expect == "success":
            message = lp(bytes_[:-32], base.settings())
            fields |= expected(range(1, 8))
            fields["digest"] = hashlib.blake2b(message, digest_size=32).digest()
        write("passcode", name, expect, **fields)
    write("passcode", "other-device-secret", "wrong secret", secret=count(2, 32), passcode=ascii_,
          settings=base.settings(), keybag=keybag(good))


# Section 4.6.
SEED = count(221, 20)
CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def pair(seed):
    secret = hashlib.blake2b(lp(b"valet/1/recovery", seed), digest_size=32).digest()
    return secret, sealing.x25519(secret, sealing.BASE)


def polymod(values):
    """BIP 173, as it stands there."""
    generator = [0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3]
    check = 1
    for value in values:
        top = check >> 25
        check = (check & 0x1FFFFFF) << 5 ^ value
        for i in range(5):
            check ^= generator[i] if top >> i & 1 else 0
    return check


def expand(name):
    return [ord(x) >> 5 for x in name] + [0] + [ord(x) & 31 for x in name]


BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
for valid in "A1LQFN3A", "abcdef1l7aum6echk45nj3s0wdvt2fg8x9yrzpqzd3ryx", "?1v759aa":
    name, _, data = valid.lower().rpartition("1")
    assert polymod(expand(name) + [BECH32.index(c) for c in data]) == 0x2BC830A3, "BIP 350"


def text(seed=SEED, kind="V1"):
    number = int.from_bytes(seed, "big")
    values = [CROCKFORD.index(c) for c in kind] + [
        number >> 5 * (31 - i) & 31 for i in range(32)]
    check = polymod(expand("valet-recovery") + values + [0] * 6) ^ 0x2BC830A3
    values += [check >> 5 * (5 - i) & 31 for i in range(6)]
    plain = "".join(CROCKFORD[value] for value in values)
    return "-".join(plain[i:i + 4] for i in range(0, 40, 4))


def look_alike(typed):
    return typed.replace("0", "O").replace("1", "I", 1).replace("1", "l")


def recovery_key_vectors():
    good, swap = text(), list(text())
    swap[7], swap[41] = swap[41], swap[7]
    assert swap[7] != swap[41] and "-" not in (swap[7], swap[41])
    typed = {
        "good": good, "good-zeros": text(bytes(20)), "good-ones": text(b"\xff" * 20),
        "good-lower-case": good.lower(), "good-spaces": f"  {good.replace('-', ' ')} \t\r\n",
        "good-without-hyphens": good.replace("-", ""),
        "good-look-alikes": look_alike(text(bytes(20)))}
    seeds = {"good-zeros": bytes(20), "good-ones": b"\xff" * 20, "good-look-alikes": bytes(20)}
    for name, one in typed.items():
        seed = seeds.get(name, SEED)
        write("recovery-key", name, "success", text=one.encode(), seed=seed,
              secret=pair(seed)[0], public_key=pair(seed)[1], printed=text(seed).encode())
    mistakes = {
        "one-changed": (good[:20] + ("2" if good[20] != "2" else "3") + good[21:], "check"),
        "kind-changed": ("W" + good[1:], "check"), "check-changed": (
            good[:-1] + ("7" if good[-1] != "7" else "8"), "check"),
        "two-swapped": ("".join(swap), "check"), "groups-swapped": (
            good[5:10] + good[:5] + good[10:], "check"),
        "empty": ("", "length 0"), "hyphens": ("----", "length 0"),
        "one-missing": (good[:-1], "length 39"), "one-more": (good + "0", "length 41"),
        "letter-u": (good[:11] + "u" + good[12:], "character 12"),
        "star-first": ("*" + good[1:], "character 1"), "nul": (good + "\0", "character 50"),
        "en-dash": (good.replace("-", "\u2013"), "character 5")}
    for name, (one, mistake) in mistakes.items():
        write("recovery-key", name, "malformed", text=one.encode(), mistake=mistake)
    write("recovery-key", "version-2", "unsupported", text=text(kind="V2").encode())
    write("recovery-key", "another-kind", "unsupported", text=text(kind="B1").encode())


def recovery_vectors():
    public, other = pair(SEED)[1], pair(bytes(20))[1]
    device, passcode = base.records(), passcode_records(b"correct horse")
    by_device, by_passcode = with_recovery(device, public), with_recovery(passcode, public)
    change = lambda tag, body: keybag(by_passcode | {tag: body})
    sealed = by_passcode[0x0104]
    cases = {
        "good": ("success", keybag(by_passcode), None),
        "good-device-secret": ("success", keybag(by_passcode), D),
        "good-device-protector": ("success", keybag(by_device, protector=1), None),
        "good-device-protector-device-secret": ("success", keybag(by_device, protector=1), D),
        "other-device-secret": ("wrong secret", keybag(by_passcode), count(2, 32)),
        "another-recovery-key": (
            "wrong recovery key", keybag(with_recovery(passcode, other)), None),
        "another-public-key": ("wrong recovery key", change(0x0130, other), None),
        "wrap-for-another": (
            "tampered", change(0x0104, with_recovery(passcode, other)[0x0104]), None),
        "no-recovery-key": ("no recovery key", keybag(passcode), D),
        "ephemeral-flipped": ("tampered", change(0x0104, flip(sealed, 0)), None),
        "commitment-flipped": ("tampered", change(0x0104, flip(sealed, 32 + 17)), None),
        "root-flipped": ("tampered", change(0x0104, flip(sealed, 32 + 80)), None),
        "ephemeral-zero": ("malformed", change(0x0104, bytes(32) + sealed[32:]), None),
        "wrap-cut": ("malformed", change(0x0104, sealed[:-1]), None),
        "wrap-version-2": ("unsupported", change(0x0104, sealed[:32] + b"\2"
                                                + sealed[33:]), None),
        "other-mac": ("tampered", keybag(by_passcode, mac=bytes(32)), None),
        "other-epoch": ("tampered", keybag(by_passcode, epoch=2), None),
        "other-keychain": ("tampered", keybag(by_passcode, chain=bytes(16)), None),
        "another-source": ("tampered", keybag(
            by_passcode, source=3, mac=keybag(by_passcode)[-32:]), None),
    }
    for name, (expect, bytes_, secret) in cases.items():
        fields = dict(text=text().encode(), settings=base.settings(), keybag=bytes_)
        if secret:
            fields["secret"] = secret
        if expect == "success":
            fields |= expected(range(1, 7 if secret else 4))
        write("recovery", name, expect, **fields)


if __name__ == "__main__":
    for area in "passcode", "recovery", "recovery-key":
        for old in (VECTORS / area).glob("*.txt"):
            old.unlink()
    passcode_vectors()
    recovery_key_vectors()
    recovery_vectors()
