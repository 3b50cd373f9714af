# SPDX-License-Identifier: Apache-2.0
"""valet.h and what this package says of it agree."""

import ctypes
import os
import re
import shutil
import subprocess

import pytest

import support
from valet import AccessControl, Accessibility, LockState, ProtectionLevel, _library, errors

# Which of the header's constants stand where in this package.
CONSTANTS = {
    **{f"VALET_{member.name}": member.value for member in Accessibility},
    **{f"VALET_{member.name}": member.value for member in AccessControl},
    **{f"VALET_STATE_{member.name}": member.value for member in LockState},
    **{f"VALET_LEVEL_{member.name}": member.value for member in ProtectionLevel},
    "VALET_KIND_LOCAL": _library.KIND_LOCAL,
    "VALET_KIND_CLOUD": _library.KIND_CLOUD,
    "VALET_KIND_SECURE_ENCLAVE": _library.KIND_SECURE_ENCLAVE,
    "VALET_KIND_SINGLE_PROMPT": _library.KIND_SINGLE_PROMPT,
    "VALET_MAY_ASK": _library.MAY_ASK,
    "VALET_VALUE_TEXT": _library.VALUE_TEXT,
    "VALET_VALUE_BYTES": _library.VALUE_BYTES,
    "VALET_VALUE_NUMBER": _library.VALUE_NUMBER,
    "VALET_PAIR_KEEP": _library.PAIR_KEEP,
    "VALET_PAIR_SKIP": _library.PAIR_SKIP,
    "VALET_PAIR_STOP": _library.PAIR_STOP,
    **{f"VALET_REASON_{member.name}": member.value for member in errors.Reason},
    "VALET_NO_LIMIT": 0,
    # Statuses that raise the base class.
    "VALET_INTERNAL": -2070,
    "VALET_TOO_LARGE": -25302,
    "VALET_DAMAGED_ITEM": -26275,
    "VALET_DISK_FULL": -34,
    "VALET_IO": -36,
    "VALET_NO_MEMORY": -108,
    "VALET_READ_ONLY": -25292,
    "VALET_ERROR_KEYCHAIN": 1,
    "VALET_ERROR_MIGRATION": errors._DOMAIN_MIGRATION,
    "VALET_OK": 0,
    "VALET_INVALID_ARGUMENT": _library.INVALID_ARGUMENT,
}
STATUSES = {
    "VALET_USER_CANCELED": errors.UserCancelled,
    "VALET_INVALID_ARGUMENT": errors.InvalidArgument,
    "VALET_NOT_AVAILABLE": errors.NotAvailable,
    "VALET_AUTH_FAILED": errors.AuthenticationFailed,
    "VALET_DUPLICATE_ITEM": errors.DuplicateItem,
    "VALET_ITEM_NOT_FOUND": errors.ItemNotFound,
    "VALET_INTERACTION_NOT_ALLOWED": errors.KeychainLocked,
    "VALET_MISSING_ENTITLEMENT": errors.MissingEntitlement,
}
NUMBERS = {
    "int": ctypes.c_int, "int32_t": ctypes.c_int32, "int64_t": ctypes.c_int64,
    "uint32_t": ctypes.c_uint32, "uint64_t": ctypes.c_uint64, "size_t": ctypes.c_size_t,
}


@pytest.fixture(scope="module")
def header():
    with open(os.environ["VALET_TEST_HEADER"], encoding="utf-8") as file:
        return re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)


@pytest.fixture(scope="module")
def compiled(header, tmp_path_factory):
    """What a C compiler makes of the header: the numbers of constants, sizes and offsets."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    support.require(compiler, "no C compiler")
    names = set(re.findall(r"\b(VALET_[A-Z0-9_]+)\s*=", header))
    names |= {f"sizeof({name})" for name in _library.STRUCTURES}
    for name, kind in _library.STRUCTURES.items():
        names |= {f"offsetof({name}, {field})" for field, _ in kind._fields_}
    lines = [f'printf("%s\\t%lld\\n", "{name}", (long long){name});' for name in sorted(names)]
    folder = tmp_path_factory.mktemp("header")
    source = folder / "print.c"
    source.write_text(
        f'#include "{os.environ["VALET_TEST_HEADER"]}"\n#include <stdio.h>\n'
        f"int main(void) {{ {' '.join(lines)} return 0; }}\n")
    subprocess.run(
        [compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", source, "-o", folder / "print"],
        check=True)
    output = subprocess.run([folder / "print"], check=True, capture_output=True, text=True).stdout
    return {name: int(number) for name, number in
            (line.split("\t") for line in output.splitlines())}


def test_every_constant_has_the_number_of_the_header(compiled):
    in_header = {name: number for name, number in compiled.items() if name.startswith("VALET_")}
    statuses = {name: in_header.pop(name) for name in STATUSES}
    expected = {name: number for name, number in CONSTANTS.items() if name not in STATUSES}
    assert in_header == expected
    for name, number in statuses.items():
        assert type(errors.failure(number, 1, 0, "", "")) is STATUSES[name]


def test_every_structure_has_the_layout_of_the_header(compiled, header):
    in_header = re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", header, flags=re.DOTALL)
    assert {name for _, name in in_header} == set(_library.STRUCTURES)
    for body, name in in_header:
        kind = _library.STRUCTURES[name]
        fields = re.findall(r"(\w+)(?:\[\d+\])?;", body)
        assert [field for field, _ in kind._fields_] == fields
        assert ctypes.sizeof(kind) == compiled[f"sizeof({name})"]
        for field in fields:
            assert getattr(kind, field).offset == compiled[f"offsetof({name}, {field})"], field


def test_every_function_has_the_parameters_of_the_header(header):
    declared = dict(re.findall(r"^valet_status (\w+)\(([^)]*)\);", header, flags=re.MULTILINE))
    assert set(declared) == set(_library.PROTOTYPES)
    for name, parameters in declared.items():
        types = [_kind_in_c(text) for text in parameters.split(",")]
        assert [_kind_in_python(kind) for kind in _library.PROTOTYPES[name]] == types, name


def test_the_library_has_every_function():
    for name in _library.PROTOTYPES:
        assert getattr(_library.library(), name).restype is ctypes.c_int32


def _kind_in_c(parameter):
    kind = re.sub(r"\b(const)\b", "", parameter).split()[0]
    is_pointer = "*" in parameter or kind in ("valet_t", "valet_secret_t", "valet_keys_t")
    return "pointer" if is_pointer else NUMBERS[kind]


def _kind_in_python(kind):
    is_pointer = kind in (ctypes.c_char_p, ctypes.c_void_p) or hasattr(kind, "contents")
    return "pointer" if is_pointer else kind
