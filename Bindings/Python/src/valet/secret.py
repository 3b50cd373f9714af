# SPDX-License-Identifier: Apache-2.0
"""A value in guarded memory. `Valet.secret` makes it."""

from __future__ import annotations

import ctypes
import weakref
from types import TracebackType
from typing import Optional

from ._library import call, library


class Secret:
    """One value in guarded memory. The memory is wiped when the `with` statement ends.

        with valet.secret("token") as token:    # a read-only memoryview
            connection.send(token)

    After the `with` statement, using the view raises ValueError. If slices of it are still in use
    then, the end of the statement raises BufferError, and the memory is wiped with the last slice.
    Up to 4 KiB are in locked memory, of which there is little, so end each secret soon.
    The view's `obj` is an internal object: do not write to it.
    """

    def __init__(self, handle: ctypes.c_void_p) -> None:
        """Takes the handle over. For this package only."""
        pointer, length = ctypes.POINTER(ctypes.c_uint8)(), ctypes.c_size_t()
        try:
            call("valet_secret_bytes", handle, ctypes.byref(pointer))
            call("valet_secret_length", handle, ctypes.byref(length))
        except BaseException:
            _free(handle)
            raise
        address = ctypes.cast(pointer, ctypes.c_void_p).value or 0
        array = (ctypes.c_uint8 * length.value).from_address(address)
        # All views of the array keep it alive. So the memory is freed after the last view, and a
        # view can never point into freed memory.
        self._free = weakref.finalize(array, _free, handle)
        # The process ends anyway, and a thread may still read a view.
        self._free.atexit = False
        self._view = memoryview(array).cast("B").toreadonly()

    def __enter__(self) -> memoryview:
        return self._view

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        try:
            self.close()
        except BufferError:
            # The frames of an exception keep their slices. Report the exception, not them.
            if error is None:
                raise

    def close(self) -> None:
        """Ends the view, and wipes the memory. Raises BufferError while slices are in use."""
        self._view.release()
        if self._free.alive:
            raise BufferError("a view of the secret is still in use; release it first")

    def __len__(self) -> int:
        return len(self._view)

    def __repr__(self) -> str:
        return "<Secret>"


def _free(handle: ctypes.c_void_p) -> None:
    library().valet_secret_free(handle)
