#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the vectors of docs/FORMAT.md section 5.5: rows whose values are sealed under an
application's password, alone and beside a presence pair.

Everything else is that of ../presence/generate.py, which takes argon2-cffi.
"""
import importlib.util
import pathlib

VECTORS = pathlib.Path(__file__).parent.parent
OURS = "Tests/Vectors/password/generate.py, from docs/FORMAT.md alone"

spec = importlib.util.spec_from_file_location("presence", VECTORS / "presence" / "generate.py")
presence = importlib.util.module_from_spec(spec)
spec.loader.exec_module(presence)
base, passcode, lp, h, count, flip = (
    presence.base, presence.passcode, presence.lp, presence.h, presence.count, presence.flip)
KC = base.KC
PASSWORD, SALT = b"battery staple", count(170, 16)
NUMBER, ITEM_SALT = 7, -2**62  # those of base.row
ITEM = base.i64(NUMBER) + base.i64(ITEM_SALT)
ALONE, WITH_PASSCODE = 1 << 31, 1 << 31 | 0x10


# Section 5.5.
def box(value, item=ITEM, keychain=KC, version=1, **cost):
    argon2 = passcode.argon2(salt=SALT, **cost)
    stretched = passcode.stretch(
        PASSWORD, SALT, cost.get("memory", passcode.MEMORY), cost.get("passes", passcode.PASSES))
    key = h(stretched, b"application-password", keychain, item)
    head = base.u8(version) + argon2 + h(key, b"commit")
    data = lp(b"valet/1/application-password-box", keychain, item, head)
    return head + base.seal(key, count(90, 24), value, data)


# Section 5.2.
def row(constraints, value, boxed=None, flags=None):
    """A row of class aku; `boxed` is what lies in the place of the value."""
    kind = 1 if constraints & 0x10 else 0
    flags = kind << 8 | (1 << 10 if constraints >> 31 else 0) if flags is None else flags
    attributes = dict(
        acct=base.text("alice"), svce=base.text("mail"), cdat=base.date(700000000.25),
        mdat=base.date(700000000.5), accc=presence.access_control(4, constraints))
    base.CLASS_KEYS, plain = passcode.CLASS_KEYS, base.CLASS_KEYS
    out = base.row(1, 4, attributes, value, flags=flags)
    inner = box(value) if boxed is None else boxed
    inner = base.pad(inner, 32 if len(inner) <= 1024 else 1024)
    if flags >> 8 & 3:
        ephemeral, secret = count(33, 32), presence.SECRETS[b"passcode"]
        pub, eph = presence.public(secret), presence.public(ephemeral)
        shared = presence.sealing.x25519(ephemeral, pub)
        key = h(shared, b"presence-value", eph, pub, KC, base.u64(base.EPOCH))
        data = base.header(b"P", out) + out["names"][-16:]
        inner = eph + base.seal(key, count(61, 24), inner, data)
    out["secret"] = base.seal_value(out, inner)
    base.CLASS_KEYS = plain
    return out, attributes


def write(name, expect, columns, attributes=None, value=None, password=PASSWORD):
    fields = dict(
        device_secret=base.D, passcode=presence.TYPED, password=password,
        settings=base.settings(), keybag=passcode.keybag(presence.records()))
    if attributes is not None:
        fields |= base.expected(attributes, value)
    base.OURS = OURS
    base.write("password", name, expect, **fields, **columns)


def vectors():
    good = {
        "alone": (ALONE, b"secret"), "with-passcode": (WITH_PASSCODE, b"secret"),
        "empty": (ALONE, b""), "value-926": (ALONE, count(3, 926)),
        "value-927": (ALONE, count(3, 927)),
    }
    for name, (constraints, value) in good.items():
        write(name, "success", *row(constraints, value), value)
    more = row(ALONE, b"secret", box(b"secret", memory=65537, passes=4))
    write("another-cost", "success", *more, b"secret")

    whole = box(b"secret")
    wrong = {
        "salt": flip(whole, 1), "memory": whole[:17] + base.u32(65537) + whole[21:],
        "passes": whole[:21] + base.u32(4) + whole[25:], "commitment": flip(whole, 26),
        "of-another-item": box(b"secret", item=base.i64(NUMBER + 1) + base.i64(ITEM_SALT)),
        "of-another-keychain": box(b"secret", keychain=count(5, 16)),
    }
    for name, bytes_ in wrong.items():
        write(f"wrong-{name}", "wrong secret", row(ALONE, b"secret", bytes_)[0])
    write("wrong-password", "wrong secret", row(ALONE, b"secret")[0], password=b"battery stapl")

    bad = {
        "version": box(b"secret", version=2), "nonce": flip(whole, 58),
        "ciphertext": flip(whole, 82), "tag": flip(whole, len(whole) - 1),
        "cut": whole[:-1], "longer": whole + b"\0", "of-a-longer-value": box(b"secret!"),
        "no-box": b"secret", "memory-below": whole[:17] + base.u32(65535) + whole[21:],
        "memory-above": whole[:17] + base.u32(2**20 + 1) + whole[21:],
        "passes-below": whole[:21] + base.u32(2) + whole[25:],
        "passes-above": whole[:21] + base.u32(65) + whole[25:],
        "lanes": whole[:25] + base.u8(2) + whole[26:],
    }
    for name, bytes_ in bad.items():
        write(f"bad-{name}", "tampered", row(ALONE, b"secret", bytes_)[0])
    write("bad-flag-missing", "tampered", row(ALONE, b"secret", flags=0)[0])
    write("bad-flag-added", "tampered", row(0x10, b"secret", flags=1 << 8 | 1 << 10)[0])
    one, two = row(ALONE, b"secret")[0], row(WITH_PASSCODE, b"secret")[0]
    write("bad-made-a-plain-one", "tampered", one | dict(flags=0))
    write("bad-secret-of-another-row", "tampered", one | dict(secret=two["secret"]))


if __name__ == "__main__":
    for old in (VECTORS / "password").glob("*.txt"):
        old.unlink()
    vectors()
