#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the vectors of docs/FORMAT.md sections 4.2, 4.8 and 4.9: keybags whose device secret or
passcode is behind a TPM. The objects have the right outer form and nothing in them: only a TPM could
tell. With an erasure secret, D is made of what the TPM seals and of what it keeps.

Everything else is that of ../passcode/generate.py.
"""
import hashlib
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


# Section 4.9.
INDEX, SINCE = 0x01A1B2C3, 1
S, E, A = D, count(120, 32), count(180, 32)
MIXED = h(S, b"erasure", KC, E)
MARK = hashlib.blake2b(lp(b"valet/1/erasure-index", KC), digest_size=32).digest()


def erasure(index=INDEX, since=SINCE, sealed=S, chain=KC, bound=None):
    """The body of 0x0122; `bound` is what the wrap is bound to instead."""
    of, epoch = (index, since) if bound is None else bound
    kek = h(sealed, b"erasure-auth", chain)
    wrapped = wrap(A, kek, b"erasure", KC, epoch, base.u32(of), count(9, 24))
    return base.u32(index) + base.base.u64(since) + wrapped


def with_erasure(body=None, device=MIXED):
    """Records behind the device secret `device`, with an erasure secret."""
    kdev = h(device, b"device-kek", KC)
    out = base.base.records()
    out[0x0101] = wrap(ROOT, kdev, b"root", KC, EPOCH, b"", count(16, 24))
    for number in (4, 5, 6):
        code = base.CODES[number].encode()
        kek = h(ROOT, b"class-kek-device", code, kdev)
        out[0x0200 + number] = wrap(base.CLASS_KEYS[number], kek, b"class", KC, EPOCH, code,
                                    count(16 * (number + 1), 24))
    return out | {0x0120: parts(), 0x0122: erasure() if body is None else body}


def mixed(records, **more):
    return keybag(records, 1, 2, kid=base.base.key_id(MIXED), **more)


def erasure_cases():
    good = with_erasure()
    body = lambda bytes_: mixed(with_erasure(bytes_))
    return {
        "erasure-good": ("success", mixed(good), E),
        "erasure-of-epoch-7": ("success", mixed(with_erasure(erasure(since=7))), E),
        "erasure-another": ("wrong secret", mixed(good), flip(E, 31)),
        "erasure-not-mixed": ("wrong secret", keybag(with_erasure(device=D), 1, 2), E),
        "erasure-dropped": ("wrong secret", mixed(base.without(good, 0x0122)), None),
        "erasure-changed": ("tampered", mixed(with_erasure(erasure(since=7)),
                                              mac=mixed(good)[-32:]), E),
        "erasure-of-another-index": ("tampered", body(erasure(bound=(INDEX + 1, SINCE))), E),
        "erasure-of-another-epoch": ("tampered", body(erasure(bound=(INDEX, 2))), E),
        "erasure-of-another-secret": ("tampered", body(erasure(sealed=MIXED)), E),
        "erasure-of-another-keychain": ("tampered", body(erasure(chain=bytes(16))), E),
        "erasure-index-too-low": ("malformed", body(erasure(index=0x017FFFFF)), E),
        "erasure-index-too-high": ("malformed", body(erasure(index=0x01C00000)), E),
        "erasure-epoch-0": ("malformed", body(erasure(since=0)), E),
        "erasure-cut": ("malformed", body(erasure()[:-1]), E),
        "erasure-longer": ("malformed", body(erasure() + b"\0"), E),
        "erasure-empty": ("malformed", body(b""), E),
        "erasure-wrap-version-2": ("unsupported", body(
            erasure()[:12] + b"\2" + erasure()[13:]), E),
        "erasure-of-a-file": ("malformed", keybag(
            base.without(good, 0x0120), 1, 1, kid=base.base.key_id(MIXED)), E),
    }


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
    for name, (expect, bytes_, kept) in erasure_cases().items():
        fields = dict(secret=S, passcode=TYPED, unsealed=T, settings=base.base.settings(),
                      keybag=bytes_)
        if kept is not None:
            fields["erasure"] = kept
        if expect == "success":
            fields |= base.expected(range(1, 7))
            fields |= dict(erasure_authorization=A, device_secret=MIXED, mark=MARK)
        base.base.write("tpm", name, expect, **fields)


if __name__ == "__main__":
    for old in (VECTORS / "tpm").glob("*.txt"):
        old.unlink()
    vectors()
