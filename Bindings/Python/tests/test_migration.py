# SPDX-License-Identifier: Apache-2.0
"""Migrations, their sources, and what a transform can do."""

import pytest

import valet
from valet import Accessibility, MigrationReason, Pair, Valet


@pytest.fixture
def old(identifier):
    """A valet with two items."""
    made = Valet(identifier, accessibility=Accessibility.AFTER_FIRST_UNLOCK)
    made["one"], made["two"] = b"1", b"2"
    return made


def contents(sandbox):
    return {key: sandbox[key] for key in sandbox}


def test_items_are_copied_from_a_valet(mailer, old):
    mailer.migrate(old)
    assert contents(mailer) == contents(old) == {"one": b"1", "two": b"2"}


def test_items_are_removed_from_their_old_place_if_wanted(mailer, old):
    mailer.migrate(old, remove_on_completion=True)
    assert (contents(mailer), contents(old)) == ({"one": b"1", "two": b"2"}, {})


def test_items_are_found_by_attributes(mailer, identifier):
    explicit = Valet(identifier, explicit=True)
    explicit["account"] = b"value"
    mailer.migrate({"svce": identifier})
    assert contents(mailer) == {"account": b"value"}


def test_a_query_of_texts_numbers_and_bytes_reaches_the_library(mailer, identifier):
    Valet(identifier, explicit=True, cloud=True)["account"] = b"cloud"
    with pytest.raises(valet.ItemNotFound):
        mailer.migrate({"svce": identifier, "sync": 0})
    with pytest.raises(valet.ItemNotFound):
        mailer.migrate({"svce": identifier, "sync": 1, "gena": b"\0\xff"})
    mailer.migrate({"svce": identifier, "sync": 1, "acct": "account"})
    assert contents(mailer) == {"account": b"cloud"}


def test_a_query_for_everything_is_invalid(mailer):
    with pytest.raises(valet.MigrationError) as caught:
        mailer.migrate({})
    assert caught.value.reason is MigrationReason.INVALID_QUERY
    with pytest.raises(valet.MigrationError) as caught:
        mailer.migrate({"class": "genp", "m_Limit": "m_LimitOne"})
    assert caught.value.reason is MigrationReason.INVALID_QUERY


def test_a_retired_accessibility_without_items_has_nothing_to_migrate(mailer):
    with pytest.raises(valet.ItemNotFound):
        mailer.migrate(Accessibility.ALWAYS)
    with pytest.raises(valet.InvalidArgument):
        mailer.migrate(Accessibility.WHEN_UNLOCKED)


def test_a_key_that_exists_stops_the_migration_without_a_change(mailer, old):
    mailer["two"] = b"mine"
    with pytest.raises(valet.MigrationError) as caught:
        mailer.migrate(old, remove_on_completion=True)
    assert caught.value.reason is MigrationReason.KEY_EXISTS_ALREADY
    assert (contents(mailer), len(contents(old))) == ({"two": b"mine"}, 2)


def test_a_transform_renames_changes_and_leaves_out(mailer, old):
    seen = []

    def transform(pair):
        seen.append(Pair(pair.key, bytes(pair.value)))
        if pair.key == "one":
            return None
        return Pair(f"new {pair.key}\0x", bytearray(pair.value) + b"\0!")

    mailer.migrate(old, transform=transform)
    assert sorted(seen) == [Pair("one", b"1"), Pair("two", b"2")]
    assert contents(mailer) == {"new two\0x": b"2\0!"}


def test_a_transform_sees_every_item_of_many(mailer, old):
    for number in range(200):
        old[f"item {number}"] = b"x" * (number + 1)
    mailer.migrate(old, transform=lambda pair: Pair(f"{pair.key}!", bytes(pair.value) * 2))
    assert len(mailer.keys()) == 202
    assert all(mailer[f"item {number}!"] == b"x" * 2 * (number + 1) for number in range(200))


@pytest.mark.parametrize("error", [LookupError("mine"), KeyboardInterrupt()])
def test_an_exception_of_a_transform_passes_and_changes_nothing(mailer, old, error):
    def transform(pair):
        raise error

    with pytest.raises(type(error)) as caught:
        mailer.migrate(old, remove_on_completion=True, transform=transform)
    assert caught.value is error
    assert (contents(mailer), len(contents(old))) == ({}, 2)


def test_a_pair_shows_no_value():
    assert repr(Pair("key", b"secret")) == "Pair(key='key', value=<6 bytes>)"
    assert "secret" not in f"{Pair('key', b'secret')}"


def test_the_value_of_a_pair_is_wiped_after_the_migration(mailer, old):
    seen = []

    def transform(pair):
        seen.append(pair.value)
        return pair

    mailer.migrate(old, transform=transform)
    assert [bytes(value) for value in seen] == [b"\0", b"\0"]
    assert contents(mailer) == contents(old) == {"one": b"1", "two": b"2"}


def test_a_call_that_does_not_end_stops_the_migration(mailer, old, monkeypatch):
    """As when a signal handler raises before the call has begun, and ctypes returns 0."""
    monkeypatch.setattr(valet.migration._Calls, "map", lambda *arguments: 0)
    with pytest.raises(KeyboardInterrupt):
        mailer.migrate(old, remove_on_completion=True, transform=lambda pair: pair)
    assert (contents(mailer), len(contents(old))) == ({}, 2)


def test_keys_that_look_alike_migrate_each_with_its_value(mailer, old):
    kelvin = "VAL_\u212aeychainCanaryUsername"
    old["\u00e9"], old["e\u0301"], old[kelvin] = b"3", b"4", b"5"
    mailer.migrate(old, remove_on_completion=True)
    assert len(contents(mailer)) == 5 and contents(old) == {}
    assert (mailer["\u00e9"], mailer["e\u0301"], mailer[kelvin]) == (b"3", b"4", b"5")


@pytest.mark.parametrize("cloud", [False, True])
def test_what_a_transform_changes_is_kept_where_names_are_shared(identifier, cloud):
    first, second = (
        Valet(identifier, explicit=True, cloud=cloud, accessibility=accessibility)
        for accessibility in (Accessibility.WHEN_UNLOCKED, Accessibility.AFTER_FIRST_UNLOCK))
    first["a"], first["b"], first["c"] = b"1", b"2", b"3"
    changed = {"a": Pair("b", b"1"), "b": Pair("a", b"2"), "c": Pair("c", b"new")}
    second.migrate(first, remove_on_completion=True, transform=lambda pair: changed[pair.key])
    assert contents(second) == {"a": b"2", "b": b"1", "c": b"new"}
    assert contents(first) == {}


@pytest.mark.parametrize("result, reason", [
    (Pair("", b"value"), MigrationReason.KEY_INVALID),
    (Pair("key", b""), MigrationReason.VALUE_INVALID),
    (Pair("same", b"value"), MigrationReason.DUPLICATE_KEY),
])
def test_what_a_transform_makes_is_checked(mailer, old, result, reason):
    with pytest.raises(valet.MigrationError) as caught:
        mailer.migrate(old, transform=lambda pair: result)
    assert caught.value.reason is reason
    assert contents(mailer) == {}


@pytest.mark.parametrize("result", ["text", Pair("key", "text"), Pair(None, b"value"), 5])
def test_a_transform_that_returns_something_else_is_an_error(mailer, old, result):
    with pytest.raises((TypeError, AttributeError)):
        mailer.migrate(old, transform=lambda pair: result)
    assert contents(mailer) == {}


def test_a_source_of_another_kind_is_an_error(mailer):
    for source in (None, "text", mailer.secret):
        with pytest.raises(TypeError):
            mailer.migrate(source)
