# SPDX-License-Identifier: Apache-2.0
"""The backend for `keyring`: its own tests of backends, and what they leave open."""

import os
import subprocess
import sys

import keyring
import pytest
from keyring import errors
from keyring.testing.backend import BackendBasicTests

import support
import valet
from valet.keyring import GROUP, Keyring

BEGIN = "import keyring, keyring.errors; from valet.keyring import Keyring; "


class TestKeyring(BackendBasicTests):
    """What keyring demands of every backend."""

    def init_keyring(self):
        return Keyring()


@pytest.fixture
def service(identifier):
    return f"https://example.com/{identifier}"


def test_keyring_chooses_this_backend_without_a_desktop():
    assert isinstance(keyring.get_keyring(), Keyring)
    assert str(keyring.get_keyring()) == "valet.keyring.Keyring (priority: 4)"


@pytest.mark.parametrize("one, other", [
    (("a", "b"), ("a", "b ")), (("a", "bc"), ("ab", "c")), (("a_b", "c"), ("a", "b_c")),
    (("s", ""), ("s", "\0")), (("", "u"), ("\0", "u")), (("s", "\0"), ("s", "\0\0")),
    (("é", "u"), ("e\u0301", "u")), (("s", "é"), ("s", "e\u0301")), (("s", "U"), ("s", "u")),
])
@pytest.mark.filterwarnings("ignore:Empty usernames")
def test_no_two_pairs_are_one_item(service, one, other):
    backend = Keyring()
    pairs = [(f"{pair[0]}{service}" if pair[0].strip("\0") else pair[0], pair[1])
             for pair in (one, other)]
    for number, pair in enumerate(pairs):
        backend.set_password(*pair, f"password {number}")
    assert [backend.get_password(*pair) for pair in pairs] == ["password 0", "password 1"]
    for pair in pairs:
        assert backend.get_credential(pair[0], pair[1]).username == pair[1]
        backend.delete_password(*pair)


@pytest.mark.parametrize("password", ["", "\0", "\0\0", "\0secret", "secret\0"])
def test_no_two_passwords_are_one_value(service, password):
    backend = Keyring()
    backend.set_password(service, "ada", password)
    assert backend.get_password(service, "ada") == password


def test_a_credential_without_a_username_is_that_of_the_first_user(service):
    backend = Keyring()
    backend.set_password(service, "grace", "g")
    backend.set_password(service, "ada", "a")
    found = backend.get_credential(service, None)
    assert (found.username, found.password) == ("ada", "a")
    backend.delete_password(service, "ada")
    assert backend.get_credential(service, None).username == "grace"


def test_the_command_shows_and_reads_passwords(service):
    Keyring().set_password(service, "ada", "correct horse")
    listed = support.valet_command("list", "--group", GROUP).decode()
    assert [line.split()[0] for line in listed.splitlines() if service in line] == ["ada"]
    assert "correct" not in listed
    sandbox = ["--group", GROUP, "--id", service]
    assert support.valet_command("get", *sandbox, "ada") == b"correct horse"
    support.valet_command("set", "--yes", *sandbox, "grace", data=b"hopper")
    assert Keyring().get_password(service, "grace") == "hopper"


def test_a_value_that_is_not_text_is_an_error(service):
    valet.Valet(service, group=GROUP)["ada"] = b"secret\xff"
    with pytest.raises(errors.KeyringError) as caught:
        Keyring().get_password(service, "ada")
    assert "secret" not in repr(caught.value)


def test_what_is_not_unicode_is_an_error(service):
    with pytest.raises(errors.PasswordSetError):
        Keyring().set_password(service, "ada", "\udc80")
    with pytest.raises(errors.KeyringError):
        Keyring().get_password(service, "\udc80")


def test_a_locked_keychain_is_reported_as_locked(protected_home):
    code = BEGIN + """
for call in (lambda: keyring.get_password('s', 'u'), lambda: keyring.set_password('s', 'u', 'p'),
             lambda: keyring.delete_password('s', 'u'), lambda: keyring.get_credential('s', 'u')):
    try: call()
    except keyring.errors.KeyringLocked as error: print(bool(str(error)))
"""
    # Without a keychain that was opened since the start, nothing is known of its items.
    assert support.python(code, home=protected_home).split("\n") == ["True"] * 4


@pytest.mark.parametrize("place, advice", [
    ("kernel", "run `valet unlock`"), ("process", "set $VALET_PASSCODE_FD to a descriptor")])
def test_what_unlocks_the_keychain_is_told_to_the_programs_user(protected_home, place, advice):
    code = BEGIN + """
try: keyring.get_password('s', 'u')
except keyring.errors.KeyringLocked as error: print(error)
"""
    told = support.python(code, home=protected_home, VALET_LOCK_STATE=place)
    assert advice in told and "`valet unlock`" in told
    assert "valet.unlock" not in told and "ValetKeychain" not in told


def test_a_keychain_that_cannot_be_used_is_reported(home):
    (home / "keychain.db").write_text("not a database, and long enough to be read as one " * 100)
    code = BEGIN + """
for call in (lambda: keyring.get_password('s', 'u'), lambda: keyring.set_password('s', 'u', 'p'),
             lambda: keyring.delete_password('s', 'u')):
    try: call()
    except keyring.errors.KeyringError as error: print(type(error).__name__)
"""
    assert support.python(code, home=home).split("\n") == [
        "InitError", "PasswordSetError", "PasswordDeleteError"]


def test_a_damaged_password_does_not_make_another_user_the_first_one(home):
    store = BEGIN + "[keyring.set_password('s', user, user + '-password') for user in 'ab']"
    support.python(store, home=home)
    support.damage_first_item(home)
    code = BEGIN + """
try: print(keyring.get_credential('s', None))
except keyring.errors.InitError as error: print('damaged' in str(error))
print(keyring.get_credential('s', 'b').password)
"""
    assert support.python(code, home=home).split("\n") == ["True", "b-password"]


def test_reading_makes_no_keychain(home):
    code = BEGIN + "print(keyring.get_password('s', 'u'), keyring.get_credential('s', None))"
    assert support.python(code, home=home) == "None None"
    assert not (home / "keychain.db").exists()


def test_a_program_with_a_name_of_its_own_needs_the_group(home):
    code = "import valet; valet.configure('Mailer'{}); " + BEGIN + """
try: keyring.set_password('s', 'u', 'p'); print(keyring.get_password('s', 'u'))
except keyring.errors.InitError as error: print(error)
"""
    refusal = support.python(code.format(""), home=home)
    assert GROUP in refusal and "valet.configure" in refusal
    groups = f", groups=['Mailer', '{GROUP}']"
    assert support.python(code.format(groups), home=home) == "p"
    # Every program sees the same passwords.
    assert support.python(BEGIN + "print(keyring.get_password('s', 'u'))", home=home) == "p"


def test_a_program_that_names_itself_after_using_keyring_is_told_so(home):
    code = BEGIN + "import valet; keyring.set_password('s', 'u', 'p')" + """
try: valet.configure('Mailer')
except valet.InvalidArgument as error: print(error, error.status)
print(keyring.get_password('s', 'u'))
"""
    refusal, password = support.python(code, home=home).split("\n")
    assert "used keyring before it named itself" in refusal and "-50" in refusal
    assert f"valet.configure('Mailer', groups=['Mailer', '{GROUP}'])" in refusal
    assert password == "p"


def test_a_desktop_keyring_stays_first(home):
    code = BEGIN + """
from keyring.backend import KeyringBackend
class Desktop(KeyringBackend):
    priority = 4.8
    kept = {}
    def get_password(self, *name): return self.kept.get(name)
    def set_password(self, service, user, password): self.kept[service, user] = password
    def delete_password(self, *name): del self.kept[name]
Keyring().set_password('here', 'u', 'in Valet')
keyring.set_password('s', 'u', 'on the desktop')
print(Desktop.kept, Keyring().get_password('s', 'u'))
print(keyring.get_password('s', 'u'), keyring.get_password('here', 'u'))
"""
    assert support.python(code, home=home).split("\n") == [
        "{('s', 'u'): 'on the desktop'} None", "on the desktop in Valet"]


def test_the_users_choice_counts(home):
    choice = "keyring.backends.null.Keyring"
    code = "import keyring; print(keyring.get_keyring())"
    output = support.python(code, home=home, PYTHON_KEYRING_BACKEND=choice)
    assert output.startswith("keyring.backends.null")


def test_without_the_library_another_backend_is_chosen(home, tmp_path):
    (tmp_path / "libvalet.so.0").write_text("not a library")
    code = BEGIN + "print(keyring.get_keyring())\n"
    code += "try: Keyring.priority\nexcept RuntimeError as error: print(error)"
    output = support.python(code, home=home, LD_LIBRARY_PATH=str(tmp_path)).split("\n")
    assert output[0].startswith("keyring.backends.fail")
    assert "cannot be loaded" in output[1]


@pytest.mark.parametrize("choice", [{}, {"PYTHON_KEYRING_BACKEND": "valet.keyring.Keyring"}])
def test_the_command_keyring_says_why_this_backend_is_not_available(home, tmp_path, choice):
    (tmp_path / "libvalet.so.0").write_text("not a library")
    variables = {"VALET_HOME": str(home), "LD_LIBRARY_PATH": str(tmp_path), **choice}
    done = subprocess.run(
        [sys.executable, "-m", "keyring", "get", "s", "u"], env={**os.environ, **variables},
        capture_output=True, timeout=60, text=True)
    assert done.returncode != 0
    assert "libvalet.so.0 cannot be loaded" in done.stderr
    assert done.stderr.count("install libvalet") == 1 or choice


def test_an_older_library_is_named_as_the_reason(home, tmp_path):
    source = tmp_path / "older.c"
    source.write_text("int valet_version(void) { return 0; }\n")
    older = tmp_path / "libvalet.so.0"
    support.run(["cc", "-shared", "-fPIC", "-o", str(older), str(source)])
    code = BEGIN + """
try: Keyring().get_password('s', 'u')
except keyring.errors.InitError as error: print(error)
"""
    told = support.python(code, home=home, LD_LIBRARY_PATH=str(tmp_path))
    assert "older than this package" in told
