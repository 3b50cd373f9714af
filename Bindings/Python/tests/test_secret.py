# SPDX-License-Identifier: Apache-2.0
"""Values in guarded memory: what a view can do, and that none outlives its memory."""

import ctypes
import gc
import threading

import pytest

import support
import valet
from valet import _library, migration


def test_a_view_reads_the_value_and_nothing_writes_it(mailer):
    mailer["key"] = b"correct horse"
    secret = mailer.secret("key")
    assert len(secret) == 13
    with secret as view:
        assert view.readonly and view.format == "B" and bytes(view) == b"correct horse"
        assert view[0] == ord("c") and view[-5:] == b"horse"
        with pytest.raises(TypeError):
            view[0] = 0


def test_after_the_statement_the_view_is_an_error(mailer):
    mailer["key"] = b"value"
    secret = mailer.secret("key")
    with secret as view:
        pass
    for use in (bytes, len, lambda view: view[0], list):
        with pytest.raises(ValueError):
            use(view)
    with pytest.raises(ValueError):
        len(secret)
    secret.close()
    assert not secret._free.alive


def test_a_slice_that_is_kept_stays_readable_and_is_reported(mailer):
    mailer["key"] = b"correct horse"
    secret = mailer.secret("key")
    with pytest.raises(BufferError, match="still in use"):
        with secret as view:
            kept = view[8:]
    assert bytes(kept) == b"horse" and secret._free.alive
    kept.release()
    assert not secret._free.alive


def test_an_exception_of_the_statement_passes_with_its_slices(mailer):
    mailer["key"] = b"value"
    secret = mailer.secret("key")
    with pytest.raises(ZeroDivisionError):
        with secret as view:
            kept = view[1:]
            1 / 0
    assert bytes(kept) == b"alue"


def test_a_secret_that_is_dropped_is_freed(mailer):
    mailer["key"] = b"value"
    free = mailer.secret("key")._free
    gc.collect()
    assert not free.alive


def test_a_view_is_stored_without_a_copy_of_its_own(mailer):
    mailer["key"] = b"value"
    with mailer.secret("key") as view:
        mailer.set("copy", view)
    assert mailer["copy"] == b"value"


def test_a_freed_secret_no_longer_has_its_memory(mailer):
    """The library refuses the handle, so nothing was left open behind the view."""
    mailer["key"] = b"value"
    secret = mailer.secret("key")
    handle = secret._free.peek()[2][0]
    secret.close()
    with pytest.raises(valet.InvalidArgument):
        _library.call("valet_secret_length", handle, ctypes.byref(ctypes.c_size_t()))


def test_copies_for_the_library_are_wiped():
    with _library.lent(b"correct horse") as (copy, length):
        assert bytes(copy) == b"correct horse" and length == 13
    assert bytes(copy) == bytes(13)


def test_copies_of_a_migration_are_wiped():
    calls = migration._Calls(lambda pair: valet.Pair("key", b"correct horse"))
    assert calls.map(None, ctypes.pointer(_library.Pair())) == _library.PAIR_KEEP
    copy = (ctypes.c_char * 13).from_buffer(calls.value)
    assert bytes(copy) == b"correct horse"
    calls.wipe()
    assert bytes(copy) == bytes(13)


def test_threads_that_read_while_the_statement_ends_get_an_error_or_the_value(mailer):
    mailer["key"] = b"v" * 4096
    problems = []

    def read(view, begun):
        begun.set()
        try:
            while True:
                if bytes(view) != b"v" * 4096:
                    problems.append("another value")
        except ValueError:
            pass
        except BaseException as error:
            problems.append(error)

    for _ in range(50):
        begun = threading.Event()
        secret = mailer.secret("key")
        with secret as view:
            reader = threading.Thread(target=read, args=(view, begun))
            reader.start()
            begun.wait()
        reader.join(10)
        assert not reader.is_alive()
    assert problems == []


def test_a_view_that_lives_until_the_process_ends_does_no_harm(home):
    support.python(
        "import atexit, valet; valet.configure('Mailer'); v = valet.Valet('Mailer')\n"
        "v['key'] = b'value'; view = v.secret('key').__enter__()\n"
        "atexit.register(lambda: print(bytes(view)))", home=home) == "b'value'"
