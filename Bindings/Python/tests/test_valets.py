# SPDX-License-Identifier: Apache-2.0
"""Storing, reading, listing and removing."""

import concurrent.futures
import copy
import ctypes
import gc
import os
import pickle

import pytest

import support
import valet
from valet import Accessibility, Valet, _library


def test_what_is_stored_is_read(mailer):
    mailer.set("password", b"correct\0horse")
    assert mailer.get("password") == b"correct\0horse"
    assert mailer["password"] == b"correct\0horse"
    assert mailer.contains("password")
    mailer.set("password", b"another")
    assert mailer.get("password") == b"another"


def test_text_is_stored_in_utf_8(mailer):
    mailer.set_text("pässword", "zażółć")
    assert mailer.get("pässword") == "zażółć".encode()
    assert mailer.get_text("pässword") == "zażółć"


def test_a_value_that_is_not_utf_8_is_not_read_as_text(mailer):
    mailer.set("binary", b"secret\xff")
    with pytest.raises(valet.NotText) as caught:
        mailer.get_text("binary")
    # Reports of exceptions show their causes and what these hold.
    assert caught.value.__context__ is None and caught.value.__cause__ is None


def test_text_that_is_not_unicode_is_refused_without_showing_it(mailer):
    with pytest.raises(valet.InvalidArgument) as caught:
        mailer.set_text("key", "secret\udc80")
    assert caught.value.__context__ is None and "secret" not in str(caught.value)


@pytest.mark.parametrize("value", [bytearray(b"ab"), memoryview(b"ab"), memoryview(b"aXbX")[::2]])
def test_every_kind_of_bytes_can_be_stored(mailer, value):
    mailer.set("key", value)
    assert mailer.get("key") == b"ab"
    assert bytes(value) == b"ab"  # The caller's bytes are left alone.


@pytest.mark.parametrize("value", ["text", 5, None, ["a"]])
def test_what_is_not_bytes_is_refused(mailer, value):
    with pytest.raises(TypeError):
        mailer.set("key", value)
    assert mailer.keys() == []


@pytest.mark.parametrize("key", [b"bytes", 5, None])
def test_a_key_that_is_not_text_is_refused(mailer, key):
    for call in (mailer.get, mailer.contains, mailer.remove):
        with pytest.raises(TypeError):
            call(key)


def test_an_empty_key_and_an_empty_value_are_refused(mailer):
    with pytest.raises(valet.InvalidArgument):
        mailer.set("", b"value")
    with pytest.raises(valet.InvalidArgument):
        mailer.set("key", b"")
    assert "" not in mailer and "key" not in mailer


def test_what_is_not_stored_is_not_found(mailer):
    with pytest.raises(valet.ItemNotFound) as caught:
        mailer.get("zyx")
    assert isinstance(caught.value, KeyError) and isinstance(caught.value, valet.KeychainError)
    assert caught.value.status == -25300
    assert str(caught.value) and "zyx" not in str(caught.value)


def test_removing_what_is_not_stored_is_no_error_but_for_del(mailer):
    mailer.remove("nothing")
    with pytest.raises(KeyError):
        del mailer["nothing"]
    mailer["something"] = b"1"
    del mailer["something"]
    assert "something" not in mailer


def test_keys_are_sorted_byte_by_byte(mailer):
    keys = ["b", "a", "ä", "z", "a\0b", "A", "\ue000", "\U0001f511"]
    for key in keys:
        mailer[key] = b"value"
    assert mailer.keys() == sorted(keys, key=str.encode)
    assert list(mailer) == mailer.keys()


def test_a_list_without_the_keys_of_damaged_items_warns(home):
    begin = "import valet; valet.configure('Mailer'); mailer = valet.Valet('s'); "
    support.python(begin + "mailer['a'] = b'1'; mailer['b'] = b'2'", home=home)
    support.damage_first_item(home)
    code = begin + """
import warnings
for keys in mailer.keys, lambda: list(mailer):
    try: keys()
    except valet.DamageWarning as warning: print('damaged' in str(warning))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        print(keys(), len(caught), caught[0].filename)
other = valet.Valet('other')
other['c'] = b'3'
print(other.keys())
"""
    assert support.python(code, home=home).split("\n") == [
        "True", "['b'] 1 <string>"] * 2 + ["['c']"]


def test_texts_that_look_alike_are_different_names(identifier):
    composed, decomposed = "\u00e9", "e\u0301"
    one, other = Valet(identifier + composed), Valet(identifier + decomposed)
    one[composed] = b"1"
    one[decomposed] = b"2"
    other[composed] = b"3"
    assert (one[composed], one[decomposed], other.keys()) == (b"1", b"2", [composed])
    assert one != other


def test_remove_all_removes_what_this_valet_has(mailer, identifier):
    other = Valet(identifier, accessibility=Accessibility.AFTER_FIRST_UNLOCK)
    mailer["one"] = mailer["two"] = other["one"] = b"value"
    mailer.remove_all()
    assert (mailer.keys(), other.keys()) == ([], ["one"])


def test_each_part_of_a_name_separates_items(identifier):
    valets = [
        Valet(identifier),
        Valet(identifier + "!"),
        Valet(identifier, accessibility=Accessibility.AFTER_FIRST_UNLOCK),
        Valet(identifier, cloud=True),
        Valet(identifier, explicit=True),
        Valet(identifier, group=support.TEAM),
        Valet(identifier, group="group.keyring"),
    ]
    for number, one in enumerate(valets):
        one["key"] = str(number).encode()
    assert [one["key"] for one in valets] == [b"0", b"1", b"2", b"3", b"4", b"5", b"6"]
    assert len(set(valets)) == len(valets)
    assert valets[0] == Valet(identifier) and hash(valets[0]) == hash(Valet(identifier))
    assert valets[0] != identifier
    for one in valets:
        assert one.can_access_keychain()


def test_a_group_without_an_entitlement_is_refused(identifier):
    with pytest.raises(valet.MissingEntitlement) as caught:
        Valet(identifier, group="group.com.example.others").set("key", b"value")
    assert caught.value.status == -34018 and "`valet.configure`" in caught.value.hint


@pytest.mark.parametrize("group", ["group", "group.", ".name", "."])
def test_a_group_without_prefix_or_name_is_refused(group):
    with pytest.raises(valet.InvalidArgument):
        Valet("identifier", group=group)


@pytest.mark.parametrize("number", [1 << 32, (1 << 32) + 1, 1 << 31, -(1 << 32) + 1])
def test_numbers_that_do_not_fit_are_not_cut_to_others(mailer, number):
    for call in (
        lambda: Valet("identifier", accessibility=number),
        lambda: valet.SecureEnclaveValet("identifier", access_control=number),
        lambda: mailer.set_from_fd("key", number),
        lambda: mailer.migrate(number),
        lambda: mailer.migrate({"sync": number << 32}),
        lambda: valet.wait(number, 0),
    ):
        with pytest.raises(valet.InvalidArgument):
            call()


def test_names_that_the_library_refuses_raise():
    with pytest.raises(valet.InvalidArgument):
        Valet()
    with pytest.raises(valet.InvalidArgument):
        Valet("identifier", accessibility=9)
    with pytest.raises(valet.InvalidArgument):
        valet.SecureEnclaveValet("identifier", access_control=9)


@pytest.mark.parametrize("deadline", [-1, 1e10, float("nan"), float("inf")])
def test_a_deadline_out_of_range_is_refused(deadline):
    with pytest.raises(valet.InvalidArgument):
        Valet("identifier", deadline=deadline)


def test_a_short_deadline_is_enough_for_a_call(identifier):
    mailer = Valet(identifier, deadline=5)
    mailer["key"] = b"value"
    assert mailer["key"] == b"value"


def test_a_value_is_stored_from_a_descriptor(mailer):
    reading, writing = os.pipe()
    try:
        os.write(writing, b"from a pipe")
        os.close(writing)
        mailer.set_from_fd("key", reading)
    finally:
        os.close(reading)
    assert mailer["key"] == b"from a pipe"
    with pytest.raises(valet.KeychainError):
        mailer.set_from_fd("key", -1)
    assert mailer["key"] == b"from a pipe"


def test_large_values_are_stored_and_too_large_ones_are_refused(mailer):
    value = bytes(range(256)) * 4096
    mailer["key"] = value
    assert mailer["key"] == value
    with pytest.raises(valet.KeychainError):
        mailer["key"] = bytes(16 * 1024 * 1024 + 1)
    assert mailer["key"] == value


def test_sixteen_threads_share_one_valet(mailer):
    def work(number):
        for turn in range(10):
            mailer[f"{number}"] = f"{number} {turn}".encode()
            assert mailer[f"{number}"] == f"{number} {turn}".encode()
            with pytest.raises(valet.ItemNotFound):
                mailer.get(f"{number} is not stored")
            with pytest.raises(valet.InvalidArgument):
                mailer.set("", b"value")
        return number

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert sorted(pool.map(work, range(16))) == list(range(16))
    assert len(mailer.keys()) == 16


def test_a_forked_child_reads_and_stores(mailer, identifier):
    mailer["before"] = b"parent"
    child = os.fork()
    if child == 0:
        try:
            Valet(identifier)["after"] = b"child of " + mailer["before"]
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert mailer["after"] == b"child of parent"


def test_no_representation_shows_a_value(mailer):
    mailer["key"] = b"hunter2"
    with mailer.secret("key") as view:
        assert "hunter2" not in repr(mailer) + repr(mailer.secret("key")) + repr(view)
    assert mailer._name[0] in repr(mailer)


def test_the_reason_of_another_failure_is_not_reported(mailer):
    """A signal handler may fail between a call and the question for its reason."""
    with pytest.raises(valet.ItemNotFound):
        mailer.get("zyx")
    error = valet._library._last_error(-34018)
    assert type(error) is valet.MissingEntitlement and error.hint == ""
    assert str(error) == "the call failed with status -34018"


def test_exceptions_survive_pickling():
    for error in (
        valet.ItemNotFound("message", -25300, "hint"),
        valet.MigrationError("message", -50, "hint", 4),
    ):
        copy = pickle.loads(pickle.dumps(error))
        assert (type(copy), str(copy), vars(copy)) == (type(error), str(error), vars(error))
    assert str(valet.ItemNotFound("message", -25300, "hint")) == "message; hint"


def test_what_the_command_stores_is_read_and_the_reverse(identifier):
    sandbox = ["--app", support.APPLICATION, "--id", identifier]
    sandbox += ["--accessibility", "after-first-unlock"]
    mailer = Valet(identifier, accessibility=Accessibility.AFTER_FIRST_UNLOCK)
    support.valet_command("set", *sandbox, "from the command", data=b"a\0\xff")
    assert mailer["from the command"] == b"a\0\xff"
    mailer["from Python"] = b"b\0\xff"
    assert support.valet_command("get", *sandbox, "from Python") == b"b\0\xff"
    support.valet_command("remove", "--yes", *sandbox, "from Python")
    assert mailer.keys() == ["from the command"]


def test_the_command_sees_cloud_and_group_items(identifier):
    Valet(identifier, cloud=True)["shared"] = b"cloud"
    Valet(identifier, group=support.TEAM)["shared"] = b"team"
    cloud = ["--app", support.APPLICATION, "--id", identifier, "--cloud"]
    team = ["--app", support.APPLICATION, "--id", identifier, "--group", support.TEAM]
    assert support.valet_command("get", *cloud, "shared") == b"cloud"
    assert support.valet_command("get", *team, "shared") == b"team"


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda one: copy.copy([one])[0]])
def test_a_copy_of_a_valet_works_after_the_valet_is_gone(identifier, duplicate):
    one = Valet(identifier)
    other = duplicate(one)
    one["key"] = b"value"
    assert other == one and hash(other) == hash(one)
    del one
    gc.collect()
    assert other["key"] == b"value"


def test_the_last_copy_of_a_valet_frees_its_handle(identifier):
    one = Valet(identifier)
    number = one._handle.value
    other = copy.copy(one)
    del one, other
    gc.collect()
    with pytest.raises(valet.InvalidArgument):
        _library.call("valet_contains", number, b"k", 1, None, ctypes.byref(ctypes.c_int32()))
