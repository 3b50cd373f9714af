#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the vectors of docs/FORMAT.md sections 4.2, 5.2 and 5.4: presence pairs in a keybag with a
passcode, and rows whose values are sealed to them.

Everything else is that of ../passcode/generate.py, which takes argon2-cffi.
"""
import importlib.util
import pathlib

VECTORS = pathlib.Path(__file__).parent.parent
OURS = "Tests/Vectors/presence/generate.py, from docs/FORMAT.md alone"

spec = importlib.util.spec_from_file_location("passcode", VECTORS / "passcode" / "generate.py")
passcode = importlib.util.module_from_spec(spec)
spec.loader.exec_module(passcode)
base, sealing, lp, h, count, flip = (
    passcode.base, passcode.sealing, passcode.lp, passcode.h, passcode.count, passcode.flip)
D, KC, ROOT, KDEV, EPOCH = base.D, base.KC, base.ROOT, base.KDEV, base.EPOCH
TYPED = b"correct horse"
SECRETS = {b"passcode": count(21, 32), b"person": count(71, 32)}
KINDS = {1: b"passcode", 2: b"person"}


def public(secret):
    return sealing.x25519(secret, sealing.BASE)


# Section 4.2.
def record(name, secret, kek, nonce):
    return public(secret) + base.wrap(secret, kek, b"presence", KC, EPOCH, name, nonce)


def records(change=lambda pairs: pairs):
    kpass = h(D, b"passcode-kek", KC, passcode.stretch(TYPED))
    pairs = {
        0x0401: record(b"passcode", SECRETS[b"passcode"],
                       h(ROOT, b"presence-passcode", KDEV, kpass), count(101, 24)),
        0x0402: record(b"person", SECRETS[b"person"], h(ROOT, b"presence-person", KDEV),
                       count(141, 24)),
    }
    return dict(sorted((passcode.passcode_records(TYPED) | change(pairs)).items()))


# Section 5.4.
def access_control(protection, constraints, enrolment=b""):
    return (5, base.u8(1) + base.u8(protection) + base.u32(constraints)
            + base.u8(len(enrolment)) + enrolment)


# Section 5.2.
def row(protection, constraints, kind, value, enrolment=b"", ephemeral=count(33, 32), part=b"P"):
    attributes = dict(
        acct=base.text("alice"), svce=base.text("mail"), cdat=base.date(700000000.25),
        mdat=base.date(700000000.5), accc=access_control(protection, constraints, enrolment))
    plain, base.CLASS_KEYS = base.CLASS_KEYS, passcode.CLASS_KEYS
    out = base.row(1, protection, attributes, value, flags=kind << 8)
    if kind:
        pub, eph = public(SECRETS[KINDS[kind]]), public(ephemeral)
        key = h(sealing.x25519(ephemeral, pub), b"presence-value", eph, pub, KC, base.u64(EPOCH))
        step = 32 if len(value) <= 1024 else 1024
        data = base.header(part, out) + out["names"][-16:]
        inner = eph + base.seal(key, count(61, 24), base.pad(value, step), data)
        out["secret"] = base.seal_value(out, inner)
    base.CLASS_KEYS = plain
    return out, attributes


def write(name, expect, columns, attributes=None, value=None, bag=None):
    fields = dict(device_secret=D, passcode=TYPED, settings=base.settings(),
                  keybag=passcode.keybag(records()) if bag is None else bag)
    if attributes is not None:
        fields |= base.expected(attributes, value)
    base.OURS = OURS
    base.write("presence", name, expect, **fields, **columns)


def vectors():
    good = {
        "passcode": row(7, 0x10, 1, b"secret"),
        "person": row(4, 0x1, 2, b"secret"),
        "biometry-any": row(2, 0x2, 2, b""),
        "current-set": row(1, 0x8, 2, count(0, 31), enrolment=count(9, 32)),
        "and": row(7, 0x8012, 1, count(3, 1024)),
        "or": row(7, 0x4018, 2, count(3, 1025), enrolment=b"e"),
        "no-constraint": row(1, 0, 0, b"secret"),
    }
    values = {
        "passcode": b"secret", "person": b"secret", "biometry-any": b"",
        "current-set": count(0, 31), "and": count(3, 1024), "or": count(3, 1025),
        "no-constraint": b"secret"}
    for name, (columns, attributes) in good.items():
        write(name, "success", columns, attributes, values[name])
    one = good["passcode"][0]
    bad = {
        "kind-of-another-demand": row(7, 0x10, 2, b"secret")[0],
        "kind-without-demand": row(7, 0, 1, b"secret")[0],
        "class-of-another": row(7, 0x10, 1, b"secret")[0] | dict(
            names=row(4, 0x10, 1, b"secret")[0]["names"]),
        "sealed-as-a-value": row(7, 0x10, 1, b"secret", part=b"V")[0],
        "sealed-to-person": one | dict(secret=row(7, 0x1, 2, b"secret")[0]["secret"]),
        "not-in-normal-form": row(7, 0x4010, 1, b"secret")[0],
        "enrolment-of-nothing": row(7, 0x10, 1, b"secret", enrolment=b"e")[0],
        "made-a-plain-one": one | dict(flags=0),
    }
    for name, columns in bad.items():
        write(f"bad-{name}", "tampered", columns)
    swapped = passcode.keybag(records(
        lambda pairs: {0x0401: pairs[0x0402], 0x0402: pairs[0x0401]}))
    other = passcode.keybag(records(
        lambda pairs: pairs | {0x0402: public(count(5, 32)) + pairs[0x0402][32:]}))
    write("bag-pairs-swapped", "tampered", one, bag=swapped)
    write("bag-another-public-key", "tampered", one, bag=other)
    write("bag-one-pair", "malformed", one, bag=passcode.keybag(records(
        lambda pairs: {0x0402: pairs[0x0402]})))
    write("bag-pair-cut", "malformed", one, bag=passcode.keybag(records(
        lambda pairs: pairs | {0x0401: pairs[0x0401][:-1]})))
    device = base.records()
    write("bag-without-passcode", "malformed", one, bag=base.keybag(list(dict(sorted((
        device | {tag: body for tag, body in records().items() if tag >> 8 == 4}).items())).items())))


if __name__ == "__main__":
    for old in (VECTORS / "presence").glob("*.txt"):
        old.unlink()
    vectors()
