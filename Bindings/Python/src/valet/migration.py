# SPDX-License-Identifier: Apache-2.0
"""Migrations: all items or none. `migrate` of the valets calls this module."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from ctypes import byref, c_void_p
from typing import Any, Callable, NamedTuple, Optional, Union

from . import _library
from ._library import Attribute, Buffer, Migration, PairMap, call, fitting, utf8
from .errors import Reason

AttributeValue = Union[str, bytes, int]


class Pair(NamedTuple):
    """An item on its way from one place to another."""

    key: Union[str, bytes, int]
    """The account of the item. That of a valet's item is text."""
    value: Buffer
    """The value. `transform` gets a bytearray that is wiped after the call: copy what you keep."""

    def __repr__(self) -> str:
        return f"Pair(key={self.key!r}, value=<{len(self.value)} bytes>)"


Transform = Callable[[Pair], Optional[Pair]]


def run(valet: c_void_p, source: Migration, transform: Optional[Transform], options: Any) -> None:
    """Calls `valet_migrate`. An exception of `transform` ends the migration without a change."""
    if transform is None:
        return call("valet_migrate", valet, byref(source), options)
    calls = _Calls(transform)
    source.map = PairMap(calls.map)
    try:
        call("valet_migrate", valet, byref(source), options)
    except BaseException as error:
        if calls.error is not None:
            raise calls.error from None
        if getattr(error, "reason", None) == Reason.NO_ANSWER:
            # A signal handler raised before `map` could catch it. ctypes has printed what.
            raise KeyboardInterrupt("a signal ended the migration, without a change") from None
        raise
    finally:
        calls.wipe()


def attributes(query: Mapping[str, AttributeValue]) -> Any:
    """The entries of a query as an array for the library. It keeps alive what it points to."""
    array = (Attribute * len(query))()
    for attribute, (name, value) in zip(array, query.items()):
        text = utf8(name, "the name of an attribute")
        attribute.name, attribute.name_length = text, len(text)
        _fill(attribute, value)
    return array


def _fill(attribute: Attribute, value: AttributeValue) -> None:
    """Gives `attribute` a value. The structure that it is part of keeps the bytes alive."""
    if isinstance(value, int):
        attribute.type, attribute.number = _library.VALUE_NUMBER, fitting(value, 64, "a number")
        return
    is_text = isinstance(value, str)
    data = utf8(value, "the value of an attribute") if isinstance(value, str) else bytes(value)
    attribute.type = _library.VALUE_TEXT if is_text else _library.VALUE_BYTES
    attribute.value, attribute.value_length = data, len(data)


class _Calls:
    """The calls of `transform` for one migration, and the memory that they lend to the library."""

    def __init__(self, transform: Transform) -> None:
        self.transform = transform
        self.error: Optional[BaseException] = None
        # What the last call lent. The library has read it when it calls again.
        self.pair: Optional[_library.Pair] = None
        self.value = bytearray()
        # What the last call lent to `transform`.
        self.lent = bytearray()

    def map(self, _context: Any, pointer: Any) -> int:
        try:
            return self._map(pointer.contents)
        except BaseException as error:
            # No exception can pass through the library.
            self.error = error
            return _library.PAIR_STOP

    def _map(self, pair: _library.Pair) -> int:
        self.wipe()
        self.lent = _copy(pair.value, pair.value_length)
        result = self.transform(Pair(_key(pair.key), self.lent))
        if result is None:
            return _library.PAIR_SKIP
        _fill(pair.key, result.key)
        self.pair, self.value = pair, bytearray(memoryview(result.value))
        pair.value_length = len(self.value)
        lent = (ctypes.c_char * len(self.value)).from_buffer(self.value)
        pair.value = ctypes.addressof(lent)
        return _library.PAIR_KEEP

    def wipe(self) -> None:
        for buffer in (self.value, self.lent):
            for index in range(len(buffer)):
                buffer[index] = 0


def _copy(address: Optional[int], length: int) -> bytearray:
    """The bytes at an address, in memory that can be wiped."""
    copy = bytearray(length)
    if length > 0:
        ctypes.memmove((ctypes.c_char * length).from_buffer(copy), address or 0, length)
    return copy


def _key(attribute: Attribute) -> AttributeValue:
    if attribute.type == _library.VALUE_NUMBER:
        return int(attribute.number)
    # ctypes would end the bytes at the first NUL.
    address = c_void_p.from_buffer(attribute, Attribute.value.offset).value
    data = ctypes.string_at(address or 0, attribute.value_length)
    return data.decode("utf-8") if attribute.type == _library.VALUE_TEXT else data
