#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the vectors of docs/FORMAT.md sections 4.2 and 4.8: keybags whose device secret or passcode
is behind a TPM. The objects have the right outer form and nothing in them: only a TPM could tell.

Everything else is that of ../passcode/generate.py.
"""
import importlib.util
import pathlib

VECTORS = pathlib.Path(__file__).parent.parent
OURS = "Tests/Vectors/tpm/generate.py, from docs/FORMAT.md alone"

spec = importlib.util.spec_from_file_location("passcode", VECTORS / "passcode" / "generate.py")
base = importlib.util.module_from_spec(spec)
spec.loader.exec_module(base)
lp, h, wrap, count, flip, u16 = (
    base.lp, base.h, base.wrap, base.count, base.flip, base.base.u16)
D, KC, ROOT, KDEV, EPOCH = base.D, base.KC, base.ROOT, base.KDEV, base.EPOCH
T, TYPED, ARGON2 = count(77, 32), b"correct horse", base.argon2()
W = base.stretch(TYPED)


def area(bytes_):
    return u16(len(bytes_)) + bytes_


PUBLIC, PRIVATE, NAME = area(count(11, 46)), area(count(60, 158)), b"\0\x0b" + count(90, 32)
PCR7 = bytes.fromhex("00000001000b03800000")


def parts(public=PUBLIC, private=PRIVATE, name=NAME, pcrs=b""):
    return lp(public, private, name, pcrs)


def passcode_records(object_=parts(), parameters=None, t=T, label=b"passcode-kek-tpm"):
    out = base.passcode_records(TYPED)
    del out[0x0102]
    kpass = h(D, label, KC, t, W)
    parameters = ARGON2 + object_ if parameters is None else parameters
    out[0x0103] = wrap(ROOT, kpass, b"root", KC, EPOCH, parameters, count(3, 24))
    out[0x0121] = object_
    kek = h(ROOT, b"class-kek-passcode", b"akpu", KDEV, kpass)
    out[0x0207] = wrap(
        base.CLASS_KEYS[7], kek, b"class", KC, EPOCH, b"akpu", count(5, 24))
    return dict(sorted(out.items()))


def keybag(records, protector=3, source=1, **more):
    return base.keybag(dict(sorted(records.items())), protector, source=source, **more)


def vectors():
    good, device = passcode_records(), base.base.records()
    in_tpm = {0x0120: parts(pcrs=PCR7)}
    form = lambda **other: keybag(device | {0x0120: parts(**other)}, 1, 2)
    body = lambda bytes_: keybag(device | {0x0120: bytes_}, 1, 2)
    cases = {
        "good-device": ("success", keybag(device | in_tpm, 1, 2), TYPED, T),
        "good-passcode": ("success", keybag(good), TYPED, T),
        "good-both": ("success", keybag(good | in_tpm, 3, 2), TYPED, T),
        "wrong-passcode": ("wrong passcode", keybag(good), b"correct horsf", T),
        "wrong-secret-of-the-tpm": ("wrong passcode", keybag(good), TYPED, flip(T, 0)),
        "passcode-alone": ("wrong passcode", keybag(
            passcode_records(label=b"passcode-kek")), TYPED, T),
        "object-of-another": ("tampered", keybag(
            good | {0x0121: parts(private=flip(PRIVATE, 5))}), TYPED, T),
        "object-not-bound": ("tampered", keybag(passcode_records(parameters=ARGON2)), TYPED, T),
        "argon2-not-bound": ("tampered", keybag(passcode_records(parameters=parts())), TYPED, T),
        "device-object-changed": ("tampered", keybag(
            device | {0x0120: parts()}, 1, 2, mac=keybag(device | in_tpm, 1, 2)[-32:]), TYPED, T),
        "device-object-missing": ("malformed", keybag(device, 1, 2), TYPED, T),
        "device-object-missing-beside": ("malformed", keybag(good, 3, 2), TYPED, T),
        "device-object-of-a-file": ("malformed", keybag(device | in_tpm, 1, 1), TYPED, T),
        "passcode-object-missing": ("malformed", keybag(
            base.without(good, 0x0121)), TYPED, T),
        "passcode-object-in-its-place": ("malformed", keybag(
            base.without(good, 0x0121) | in_tpm, 3, 2), TYPED, T),
        "passcode-object-without-passcode": ("malformed", keybag(
            device | {0x0121: parts()}, 1, 1), TYPED, T),
        "root-by-passcode-too": ("malformed", keybag(
            good | {0x0102: good[0x0103]}), TYPED, T),
        # Decision 28: version 1 no longer knows the record of an erasure secret.
        "record-0122": ("unsupported", keybag(
            device | in_tpm | {0x0122: count(1, 133)}, 1, 2), TYPED, T),
        "form-empty": ("malformed", body(b""), TYPED, T),
        "form-cut": ("malformed", body(parts()[:-1]), TYPED, T),
        "form-longer": ("malformed", body(parts() + b"\0"), TYPED, T),
        "form-public-empty": ("malformed", form(public=area(b"")), TYPED, T),
        "form-private-without-length": ("malformed", form(private=b"\1"), TYPED, T),
        "form-public-length": ("malformed", form(public=flip(PUBLIC, 1)), TYPED, T),
        "form-private-too-long": ("malformed", form(private=area(bytes(1025))), TYPED, T),
        "form-private-longest": ("success", form(private=area(bytes(1024))), TYPED, T),
        "form-name-of-sha384": ("malformed", form(name=flip(NAME, 1)), TYPED, T),
        "form-name-cut": ("malformed", form(name=NAME[:-1]), TYPED, T),
        "form-pcrs-none": ("malformed", form(pcrs=bytes(4)), TYPED, T),
        "form-pcrs-no-bit": ("malformed", form(pcrs=PCR7[:7] + bytes(3)), TYPED, T),
        "form-pcrs-of-sha1": ("malformed", form(
            pcrs=bytes.fromhex("00000001000403800000")), TYPED, T),
        "form-pcrs-of-two-bytes": ("malformed", form(
            pcrs=bytes.fromhex("00000001000b028000")), TYPED, T),
    }
    for name, (expect, bytes_, passcode, t) in cases.items():
        fields = dict(secret=D, passcode=passcode, unsealed=t, settings=base.base.settings(),
                      keybag=bytes_)
        if expect == "success":
            fields |= base.expected(range(1, 8 if bytes_[34] == 3 else 7))
            fields["authorization"] = h(W, b"tpm-auth")
        base.base.OURS = OURS
        base.base.write("tpm", name, expect, **fields)


if __name__ == "__main__":
    for old in (VECTORS / "tpm").glob("*.txt"):
        old.unlink()
    vectors()
