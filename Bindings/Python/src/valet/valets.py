# SPDX-License-Identifier: Apache-2.0
"""The valets: sandboxes of the keychain, as in Swift."""

from __future__ import annotations

import enum
import warnings
import weakref
from collections.abc import Iterator, Mapping
from ctypes import byref, c_int32, c_size_t, c_void_p, sizeof, string_at
from typing import Any, Optional, Union

from . import _library, migration
from ._library import Buffer, Description, call, fitting, freeing, lent, options, utf8
from .errors import DamageWarning, InvalidArgument, ItemNotFound, KeychainError, NotText
from .keychain import Accessibility
from .secret import Secret


class AccessControl(enum.IntEnum):
    """What reading a value demands. The numbers are those of VALSecureEnclaveAccessControl."""

    USER_PRESENCE = 1
    BIOMETRIC_ANY = 2
    BIOMETRIC_CURRENT_SET = 3
    DEVICE_PASSCODE = 4


class Sandbox:
    """What all valets can do. Every thread may use one valet at once.

    Each call raises a KeychainError if it fails. None asks the user, except those that take a
    prompt.
    """

    def __init__(
        self, identifier: str, group: str, deadline: Optional[float], **kind: int
    ) -> None:
        _library.require_identity()
        prefix, separator, name = group.partition(".")
        if group and not (prefix and separator and name):
            raise InvalidArgument(
                f"the group {group!r} has no prefix", _library.INVALID_ARGUMENT,
                "name it as PREFIX.GROUP")
        texts = {"identifier": identifier, "group_prefix": prefix, "group": name}
        numbers = {name: fitting(value, 32, f"the {name}") for name, value in kind.items()}
        description = Description(**numbers)
        for field, text in texts.items():
            encoded = utf8(text, f"the {field.replace('_', ' ')}")
            setattr(description, field, encoded)
            setattr(description, f"{field}_length", len(encoded))
        self._name, self._kind = (identifier, group), kind
        self._handle, self._deadline = c_void_p(), deadline
        self._options()  # Refuses a deadline that is out of range.
        with freeing(self._handle, "valet_close"):
            call("valet_open", byref(description), byref(self._handle))
            # With the handle, and not with this object: copies share it.
            end = weakref.finalize(self._handle, _close, c_void_p(self._handle.value))
            end.atexit = False

    def set(self, key: str, value: Buffer) -> None:
        """Stores `value` under `key`, in place of what is there. An empty value is refused."""
        with lent(value) as (bytes_, length):
            call("valet_set", self._handle, *_key(key), bytes_, length, self._options())

    def set_text(self, key: str, text: str) -> None:
        """Stores `text` in UTF-8."""
        self.set(key, utf8(text, "the value"))

    def set_from_fd(self, key: str, fd: int) -> None:
        """Stores what file descriptor `fd` yields up to its end. Python never sees the value."""
        number = fitting(fd, 32, "the file descriptor")
        call("valet_set_from_fd", self._handle, *_key(key), number, self._options())

    def contains(self, key: str) -> bool:
        """Whether something is stored under `key`. Does not read the value."""
        found = c_int32()
        call("valet_contains", self._handle, *_key(key), self._options(), byref(found))
        return bool(found.value)

    def remove(self, key: str) -> None:
        """Removes what is stored under `key`. Nothing under it is no error."""
        call("valet_remove", self._handle, *_key(key), self._options())

    def remove_all(self) -> None:
        """Removes all items of this valet."""
        call("valet_remove_all", self._handle, self._options())

    def can_access_keychain(self) -> bool:
        """Whether this valet can store and read now, whatever its access control."""
        can = c_int32()
        call("valet_can_access", self._handle, self._options(), byref(can))
        return bool(can.value)

    def migrate(
        self, source: Union[Sandbox, Accessibility, Mapping[str, migration.AttributeValue]],
        *, remove_on_completion: bool = False,
        transform: Optional[migration.Transform] = None, prompt: Optional[str] = None,
    ) -> None:
        """Copies items into this valet: all or none.

        `source` is one of these: another valet; attributes of generic passwords under Apple's
        names, as `{"svce": "Mailer", "sync": 1}`; or `Accessibility.ALWAYS` or
        `ALWAYS_THIS_DEVICE_ONLY` for what this valet stored with that retired accessibility.

        `remove_on_completion` removes the items from their old place. `transform` gets each item
        as a `Pair`. It returns the pair to store, or None to leave the item out. It must not use
        the valets of the migration. If it raises, nothing is changed.

        If the items of `source` require the user, `prompt` is the reason that the user sees. With
        None the call may not ask.
        """
        made = _library.Migration(remove_on_completion=int(remove_on_completion))
        if isinstance(source, Sandbox):
            setattr(made, "from", source._handle)
        elif isinstance(source, int):
            made.retired = fitting(source, 32, "the accessibility")
        elif isinstance(source, Mapping):
            made.attributes = migration.attributes(source)
            made.attribute_count = len(source)
            made.attribute_size = sizeof(_library.Attribute)
        else:
            raise TypeError(f"items do not migrate from {type(source).__name__}")
        migration.run(self._handle, made, transform, self._options(prompt))

    def __deepcopy__(self, memo: object) -> Sandbox:
        """This object: it never changes, and its handle has no copies."""
        return self

    def __eq__(self, other: object) -> bool:
        """Whether both read and write the same items."""
        if not isinstance(other, Sandbox):
            return NotImplemented
        # Items of an explicit name may have the name of another kind's items.
        if self._kind["kind"] != other._kind["kind"]:
            return False
        is_equal = c_int32()
        call("valet_is_equal", self._handle, other._handle, byref(is_equal))
        return bool(is_equal.value)

    def __hash__(self) -> int:
        # Different names may stand for the same items, if one is explicit.
        return hash((self._kind["kind"], self._kind.get("accessibility")))

    def __repr__(self) -> str:
        identifier, group = self._name
        return f"<{type(self).__name__} {' '.join(filter(None, (group, identifier)))}>"

    def _options(self, prompt: Optional[str] = None) -> Any:
        return options(self._deadline, prompt)

    def _read(self, key: str, prompt: Optional[str] = None) -> Secret:
        secret = c_void_p()
        with freeing(secret, "valet_secret_free"):
            call("valet_get", self._handle, *_key(key), self._options(prompt), byref(secret))
            return Secret(secret)

    def _all_keys(self) -> list[str]:
        """All keys. Raises if a damaged item may have another one: to choose one among them."""
        found, damage = self._list()
        if damage is not None:
            raise damage
        return found

    def _listed(self, prompt: Optional[str] = None) -> list[str]:
        """The keys that can be read. Warns the caller's caller if there are others."""
        found, damage = self._list(prompt)
        if damage is not None:
            warnings.warn(f"the list of keys is incomplete: {damage}", DamageWarning, stacklevel=3)
        return found

    def _list(self, prompt: Optional[str] = None) -> tuple[list[str], Optional[KeychainError]]:
        """The keys that can be read, and why the list lacks others."""
        keys, count, text, length = c_void_p(), c_size_t(), c_void_p(), c_size_t()
        with freeing(keys, "valet_keys_free"):
            call("valet_keys", self._handle, self._options(prompt), byref(keys))
            damage = _library.noted_damage()
            call("valet_keys_count", keys, byref(count))
            found = []
            for index in range(count.value):
                call("valet_keys_at", keys, index, byref(text), byref(length))
                found.append(string_at(text, length.value).decode("utf-8"))
            _library.library().valet_keys_free(keys)
            return found, damage


class Valet(Sandbox):
    """Secrets that can be read without asking the user.

        mailer = Valet("Mailer", accessibility=Accessibility.AFTER_FIRST_UNLOCK)
        mailer["mail-password"] = b"correct horse"
        with mailer.secret("mail-password") as password: ...

    `valet[key]` reads bytes, and `in`, `del` and iteration work as on a mapping of keys to bytes.
    """

    def __init__(
        self, identifier: str = "", *, group: str = "",
        accessibility: Accessibility = Accessibility.WHEN_UNLOCKED,
        cloud: bool = False, explicit: bool = False, deadline: Optional[float] = None,
    ) -> None:
        """Names the items that this valet reads and writes. Nothing is created.

        - `identifier`: the name of the sandbox. At least one of it and `group` is not empty.
        - `group`: an access group that programs share, as `PREFIX.GROUP`.
        - `accessibility`: when the values can be read. Another accessibility is another sandbox.
        - `cloud`: the devices of the user share the items, if they sync.
        - `explicit`: the identifier, or the group, alone names the items.
        - `deadline`: the seconds that each call may take. None is the library's five seconds.
        """
        kind = _library.KIND_CLOUD if cloud else _library.KIND_LOCAL
        super().__init__(
            identifier, group, deadline, kind=kind, accessibility=accessibility,
            explicitly_set=int(explicit))

    def secret(self, key: str) -> Secret:
        """The value under `key` in guarded memory. Raises ItemNotFound, which is a KeyError."""
        return self._read(key)

    def get(self, key: str) -> bytes:
        """A copy of the value under `key`. Raises ItemNotFound, which is a KeyError.

        Python cannot wipe the copy; `secret` makes none.
        """
        return _copied(self._read(key))

    def get_text(self, key: str) -> str:
        """The value under `key` as text. Raises NotText if it is not UTF-8."""
        return _text(self._read(key))

    def keys(self) -> list[str]:
        """All keys of this valet, sorted byte by byte in UTF-8. Warns of damaged items, whose keys
        are missing, by a DamageWarning."""
        return self._listed()

    def __getitem__(self, key: str) -> bytes:
        return self.get(key)

    def __setitem__(self, key: str, value: Buffer) -> None:
        self.set(key, value)

    def __delitem__(self, key: str) -> None:
        if not self.contains(key):
            raise ItemNotFound("nothing is stored under that key")
        self.remove(key)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and key != "" and self.contains(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._listed())


class SecureEnclaveValet(Sandbox):
    """Secrets whose reading demands the user, each time. Storing and removing ask nobody.

    A prompt is the reason that the user sees. With None a call may not ask, and a value that
    needs the user raises KeychainLocked.
    """

    _kind_of_class = _library.KIND_SECURE_ENCLAVE

    def __init__(
        self, identifier: str = "", *, group: str = "",
        access_control: AccessControl = AccessControl.USER_PRESENCE,
        deadline: Optional[float] = None,
    ) -> None:
        """Names the items, like `Valet`. Another `access_control` is another sandbox."""
        super().__init__(
            identifier, group, deadline, kind=self._kind_of_class,
            access_control=access_control)

    def can_meet_access_control(self) -> bool:
        """Whether the user could meet the access control: False for the biometric ones if no
        finger is enrolled. Does not ask the user."""
        can = c_int32()
        call("valet_can_meet_access_control", self._handle, byref(can))
        return bool(can.value)

    def secret(self, key: str, prompt: Optional[str]) -> Secret:
        """The value under `key` in guarded memory. Raises UserCancelled if the user declines."""
        return self._read(key, prompt)

    def get(self, key: str, prompt: Optional[str]) -> bytes:
        """A copy of the value under `key`. Python cannot wipe the copy; `secret` makes none."""
        return _copied(self._read(key, prompt))

    def get_text(self, key: str, prompt: Optional[str]) -> str:
        """The value under `key` as text. Raises NotText if it is not UTF-8."""
        return _text(self._read(key, prompt))

    def keys(self, prompt: Optional[str]) -> list[str]:
        """All keys of this valet, sorted byte by byte in UTF-8. Asks unless there are none. Warns
        of damaged items by a DamageWarning."""
        return self._listed(prompt)


class SinglePromptSecureEnclaveValet(SecureEnclaveValet):
    """Like SecureEnclaveValet, but asks once, until `require_prompt_on_next_access` is called."""

    _kind_of_class = _library.KIND_SINGLE_PROMPT

    def require_prompt_on_next_access(self) -> None:
        """Makes the next reading ask the user again."""
        call("valet_require_prompt", self._handle)


def _key(key: str) -> tuple[bytes, int]:
    encoded = utf8(key, "the key")
    return encoded, len(encoded)


def _copied(secret: Secret) -> bytes:
    with secret as view:
        return bytes(view)


def _text(secret: Secret) -> str:
    with secret as view:
        try:
            return str(view, "utf-8")
        except UnicodeDecodeError:
            pass  # Raised below: this exception holds the secret.
    raise NotText("the stored value is not text in UTF-8", hint="read it as bytes")


def _close(handle: c_void_p) -> None:
    _library.library().valet_close(handle)
