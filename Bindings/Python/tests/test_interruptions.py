# SPDX-License-Identifier: Apache-2.0
"""Signal handlers that raise: at every step of a call nothing of the library is left over."""

import ctypes
import gc
import sys

import pytest

import valet
from valet import _library


class Interruption(BaseException):
    """What the handler of a signal raises, as that of Ctrl-C does."""


def interrupted(call, step):
    """Makes the call, and raises at one of its steps. Returns whether it had as many."""
    left = step

    def trace(frame, event, _):
        nonlocal left
        if not _is_of_package(frame):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            left -= 1
            if left == 0:
                sys.settrace(None)
                raise Interruption
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
        return False
    except Interruption:
        return True
    finally:
        sys.settrace(before)


def _is_of_package(frame):
    """Whether the frame runs code of the package; not what runs when an object ends, in which
    Python drops every exception."""
    return frame.f_globals.get("__package__") == "valet" and frame.f_code.co_name not in (
        "_close", "_free")


def check(call, kind, make):
    """Interrupts the call at each of its steps. Every handle of the kind is freed then.

    `make` makes such a handle, frees it, and returns its number. Each number is 4 greater than the
    one before.
    """
    step = 1
    while True:
        first = make()
        was_interrupted = interrupted(call, step)
        gc.collect()
        for number in range(first + 4, make(), 4):
            with pytest.raises(valet.InvalidArgument):
                arguments = {
                    "valet_contains": (b"k", 1, None, ctypes.byref(ctypes.c_int32())),
                    "valet_secret_length": (ctypes.byref(ctypes.c_size_t()),),
                    "valet_keys_count": (ctypes.byref(ctypes.c_size_t()),),
                }[kind]
                _library.call(kind, number, *arguments)
        if not was_interrupted:
            assert step > 50
            return
        step += 1


def test_an_interrupted_call_that_opens_a_valet_leaves_no_handle(identifier):
    check(
        lambda: valet.Valet(identifier), "valet_contains",
        lambda: valet.Valet(identifier)._handle.value)


def test_an_interrupted_call_that_reads_leaves_no_secret(mailer):
    mailer["key"] = b"value"

    def make():
        secret = mailer.secret("key")
        number = secret._free.peek()[2][0].value
        secret.close()
        return number

    check(lambda: mailer.get("key"), "valet_secret_length", make)


def test_an_interrupted_call_that_lists_leaves_no_keys(mailer):
    mailer["key"] = b"value"

    def make():
        keys = ctypes.c_void_p()
        _library.call("valet_keys", mailer._handle, None, ctypes.byref(keys))
        _library.call("valet_keys_free", keys)
        return keys.value

    check(mailer.keys, "valet_keys_count", make)
