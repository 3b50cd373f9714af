# SPDX-License-Identifier: Apache-2.0
"""valet.h for ctypes: structures, constants, prototypes, and `call`, which raises for a failure.

The other modules reach the library through this one. tests/test_header.py compares it with the
header. ctypes releases the interpreter's lock during each call.
"""

from __future__ import annotations

import ctypes
import functools
import math
import pathlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import POINTER, c_char, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64
from ctypes import c_uint8, c_void_p
from typing import Any, Optional, Union

from .errors import InvalidArgument, KeychainError, Reason, failure

Buffer = Union[bytes, bytearray, memoryview]
"""What a value can be given as."""

# A wheel for pip has the library in this folder. Without it the system's loader finds it by its
# soname. No variable of this package names a path.
SONAME = "libvalet.so.0"
BUNDLED = pathlib.Path(__file__).with_name(SONAME)

INVALID_ARGUMENT = -50

KIND_LOCAL, KIND_CLOUD, KIND_SECURE_ENCLAVE, KIND_SINGLE_PROMPT = range(4)
MAY_ASK = 1
VALUE_TEXT, VALUE_BYTES, VALUE_NUMBER = 1, 2, 3
PAIR_KEEP, PAIR_SKIP, PAIR_STOP = 1, 2, 3


class Sized(ctypes.Structure):
    """A structure that begins with its size, so that later versions can add fields."""

    def __init__(self, **fields: Any) -> None:
        super().__init__(size=ctypes.sizeof(self), **fields)


class Description(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("identifier", c_char_p),
        ("identifier_length", c_size_t),
        ("group_prefix", c_char_p),
        ("group_prefix_length", c_size_t),
        ("group", c_char_p),
        ("group_length", c_size_t),
        ("kind", c_int32),
        ("accessibility", c_int32),
        ("access_control", c_int32),
        ("explicitly_set", c_int32),
    ]


class Options(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("flags", c_uint32),
        ("deadline_ms", c_uint32),
        ("prompt", c_char_p),
        ("prompt_length", c_size_t),
    ]


class Error(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("status", c_int32),
        ("domain", c_int32),
        ("code", c_int32),
        ("reason", c_int32),
        ("message", c_char * 512),
        ("hint", c_char * 512),
    ]


class Attribute(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("name_length", c_size_t),
        ("type", c_int32),
        ("value", c_char_p),
        ("value_length", c_size_t),
        ("number", c_int64),
    ]


class Pair(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("key", Attribute),
        ("value", c_void_p),
        ("value_length", c_size_t),
    ]


PairMap = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(Pair))


class Migration(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("from", c_void_p),
        ("attributes", POINTER(Attribute)),
        ("attribute_count", c_size_t),
        ("retired", c_int32),
        ("remove_on_completion", c_int32),
        ("map", PairMap),
        ("context", c_void_p),
        ("attribute_size", c_size_t),
    ]


# The names of structures in valet.h.
STRUCTURES: dict[str, type[ctypes.Structure]] = {
    "valet_description": Description,
    "valet_options": Options,
    "valet_error": Error,
    "valet_attribute": Attribute,
    "valet_pair": Pair,
    "valet_migration": Migration,
}

_KEY = (c_char_p, c_size_t)
_OPTIONS = POINTER(Options)
_INT32_OUT = POINTER(c_int32)
_HANDLE_OUT = POINTER(c_void_p)
_SIZE_OUT = POINTER(c_size_t)

# The types of each function's parameters. All return a status.
PROTOTYPES: dict[str, tuple[Any, ...]] = {
    "valet_version": (_INT32_OUT, _INT32_OUT, _INT32_OUT),
    "valet_configure": (c_char_p, c_size_t, POINTER(c_char_p), _SIZE_OUT, c_size_t),
    "valet_last_error": (POINTER(Error),),
    "valet_open": (POINTER(Description), _HANDLE_OUT),
    "valet_close": (c_void_p,),
    "valet_is_equal": (c_void_p, c_void_p, _INT32_OUT),
    "valet_can_access": (c_void_p, _OPTIONS, _INT32_OUT),
    "valet_can_meet_access_control": (c_void_p, _INT32_OUT),
    "valet_require_prompt": (c_void_p,),
    "valet_set": (c_void_p, *_KEY, c_void_p, c_size_t, _OPTIONS),
    "valet_set_from_fd": (c_void_p, *_KEY, c_int, _OPTIONS),
    "valet_get": (c_void_p, *_KEY, _OPTIONS, _HANDLE_OUT),
    "valet_contains": (c_void_p, *_KEY, _OPTIONS, _INT32_OUT),
    "valet_remove": (c_void_p, *_KEY, _OPTIONS),
    "valet_remove_all": (c_void_p, _OPTIONS),
    "valet_secret_bytes": (c_void_p, POINTER(POINTER(c_uint8))),
    "valet_secret_length": (c_void_p, _SIZE_OUT),
    "valet_secret_free": (c_void_p,),
    "valet_keys": (c_void_p, _OPTIONS, _HANDLE_OUT),
    "valet_keys_count": (c_void_p, _SIZE_OUT),
    "valet_keys_at": (c_void_p, c_size_t, POINTER(c_void_p), _SIZE_OUT),
    "valet_keys_free": (c_void_p,),
    "valet_migrate": (c_void_p, POINTER(Migration), _OPTIONS),
    "valet_state": (_INT32_OUT, _INT32_OUT),
    "valet_wait": (c_int32, c_uint32),
    "valet_unlock": (c_void_p, c_size_t, c_uint64, c_uint64),
    "valet_lock": (c_int32,),
}


@functools.lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    """The library, loaded at the first call, so that importing this package never fails.

    Raises OSError if it is not installed, or is older than this package.
    """
    loaded = ctypes.CDLL(str(BUNDLED) if BUNDLED.exists() else SONAME)
    for name, parameters in PROTOTYPES.items():
        function = getattr(loaded, name, None)
        if function is None:
            raise OSError(f"{SONAME} is older than this package: it has no {name}")
        function.argtypes, function.restype = parameters, c_int32
    return loaded


@contextmanager
def freeing(handle: c_void_p, free: str) -> Iterator[None]:
    """Frees `handle` if the calls in the `with` statement raise. A signal handler may raise after
    the library has made the handle, and before anything else knows it."""
    try:
        yield
    except BaseException:
        getattr(library(), free)(handle)
        raise


def call(name: str, *arguments: Any) -> None:
    """Calls a function of the library. Raises what `valet_last_error` says if it fails."""
    status = getattr(library(), name)(*arguments)
    if status != 0:
        raise _last_error(status)


# A function of the library in a hint. This package has it under the rest of its name.
_FUNCTION = re.compile(r"`valet_(configure|unlock)`")


def _last_error(status: int) -> KeychainError:
    error = Error()
    library().valet_last_error(ctypes.byref(error))
    # A signal handler may have called the library since: its failure is not the one to report.
    if error.status != status:
        return failure(status, 0, 0, f"the call failed with status {status}", "")
    message, hint = (text.decode("utf-8", "replace") for text in (error.message, error.hint))
    hint = _FUNCTION.sub(r"`valet.\1`", hint)
    if "`VALET_MAY_ASK`" in hint:
        hint = "give the call a prompt, so that it may ask the user"
    return failure(status, error.domain, error.code, message, hint, error.reason)


def noted_damage() -> Optional[KeychainError]:
    """Why the list of keys that the last call returned is incomplete; None if it is complete."""
    error = Error()
    library().valet_last_error(ctypes.byref(error))
    return _last_error(error.status) if error.reason == Reason.DAMAGED else None


def utf8(text: str, what: str) -> bytes:
    """`text` in UTF-8. `what` names it in the exception for text that is not Unicode."""
    if not isinstance(text, str):
        raise TypeError(f"{what} must be a str, not {type(text).__name__}")
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        pass  # Raised below: this exception holds the text, which may be a secret.
    raise InvalidArgument(f"{what} contains a surrogate, so it is not Unicode", INVALID_ARGUMENT)


@contextmanager
def lent(value: Buffer) -> Iterator[tuple[Any, int]]:
    """A copy of `value` for the library: a pointer and a length. Wipes the copy at the end."""
    copy = bytearray(memoryview(value))
    length = len(copy)
    try:
        yield (ctypes.c_char * length).from_buffer(copy), length
    finally:
        ctypes.memset((ctypes.c_char * length).from_buffer(copy), 0, length)


def fitting(number: int, bits: int, what: str) -> int:
    """`number` if a signed integer of `bits` bits holds it. ctypes would cut it to another one."""
    if not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
        raise InvalidArgument(f"{what} is out of range", INVALID_ARGUMENT)
    return number


def milliseconds(seconds: float, what: str) -> int:
    """A duration for the library, rounded up, so that it is 0 only for 0."""
    if not 0 <= seconds <= 0xFFFFFFFF / 1000:
        raise InvalidArgument(f"{what} must be from 0 to 4294967 seconds", INVALID_ARGUMENT)
    return math.ceil(seconds * 1000)


def options(deadline: Optional[float], prompt: Optional[str] = None) -> Any:
    """Options of a call. It may ask the user only if there is a prompt."""
    made = Options()
    if deadline is not None:
        made.deadline_ms = max(1, milliseconds(deadline, "the deadline"))
    if prompt is not None:
        made.flags, text = MAY_ASK, utf8(prompt, "the prompt")
        made.prompt, made.prompt_length = text, len(text)
    return ctypes.byref(made)


# The groups that this process was configured with; None until it was configured.
_groups: Optional[tuple[str, ...]] = None
# Whether the backend of keyring named this process, because nothing had named it before.
_is_named_by_keyring = False


def configure(application: str, groups: tuple[str, ...], for_keyring: bool = False) -> None:
    """Names the application. `keychain.configure` documents it."""
    global _groups, _is_named_by_keyring
    name, names = utf8(application, "the application"), [utf8(g, "a group") for g in groups]
    texts, lengths = (c_char_p * len(names))(*names), (c_size_t * len(names))(*map(len, names))
    try:
        call("valet_configure", name, len(name), texts, lengths, len(names))
    except InvalidArgument as error:
        if not _is_named_by_keyring or for_keyring:
            raise
        raise InvalidArgument(
            f"{error.message}: the program used keyring before it named itself", error.status,
            f"call valet.configure({application!r}, groups=[{application!r}, 'group.keyring']) "
            "before the program uses keyring") from None
    _groups, _is_named_by_keyring = groups, for_keyring


def configured_groups() -> Optional[tuple[str, ...]]:
    """The groups that this process was configured with; None if it was not configured."""
    return _groups


def require_identity() -> None:
    """Refuses a process without a name.

    The library would name it after its executable, which is the interpreter: all programs would
    share one sandbox, and lose sight of it with the next version of Python.
    """
    if _groups is None:
        raise InvalidArgument(
            "this program has not named itself", INVALID_ARGUMENT,
            "call valet.configure('NAME') before anything else uses the keychain")
