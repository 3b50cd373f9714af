# SPDX-License-Identifier: Apache-2.0
"""Identity, lock state, waiting, and values that require the user."""

import pytest

import support
import valet

BEGIN = "import valet; valet.configure('Mailer'); v = valet.Valet('Mailer'); "


def test_the_library_has_a_version():
    assert len(valet.version()) == 3 and min(valet.version()) >= 0


def test_importing_needs_no_library(home, tmp_path):
    (tmp_path / "libvalet.so.0").write_text("not a library")
    code = "import valet\ntry: valet.version()\nexcept OSError as error: print(error)"
    assert "libvalet" in support.python(code, home=home, LD_LIBRARY_PATH=str(tmp_path))


@pytest.mark.parametrize("call", [
    "valet.Valet('Mailer')", "valet.SecureEnclaveValet('Mailer')", "valet.state()",
    "valet.wait(1, 0)", "valet.unlock('passcode')", "valet.lock()",
])
def test_a_program_that_did_not_name_itself_is_refused(home, call):
    code = f"import valet\ntry: {call}\nexcept valet.InvalidArgument as error: print(error.hint)"
    assert "valet.configure" in support.python(code, home=home)
    assert list(home.iterdir()) == []


def test_a_program_cannot_change_its_name_in_use(home):
    code = BEGIN + (
        "v['key'] = b'value'; valet.configure('Mailer')\n"
        "try: valet.configure('Other')\n"
        "except valet.InvalidArgument as error: print(v['key'], 'Mailer' in str(error))")
    assert support.python(code, home=home) == "b'value' True"


def test_groups_are_several_texts():
    with pytest.raises(TypeError):
        valet.configure(support.APPLICATION, groups="group.team")
    with pytest.raises(valet.InvalidArgument):
        valet.configure("")


def test_a_keychain_without_a_passcode_is_always_open(mailer):
    mailer["key"] = b"value"
    state = valet.state()
    assert state.lock_state is valet.LockState.NO_PASSCODE
    assert state.protection_level is valet.ProtectionLevel.FILE
    valet.wait(valet.Accessibility.WHEN_UNLOCKED, 0)


def test_looking_at_a_keychain_makes_none(home):
    code = BEGIN + "print(*map(int, valet.state())); print(v.contains('key'), v.keys())"
    assert support.python(code, home=home).split("\n") == ["0 -1", "False []"]
    assert not (home / "keychain.db").exists()


def test_a_locked_keychain_refuses_to_read_and_a_passcode_opens_it(protected_home):
    code = BEGIN + f"""
from valet import Accessibility, KeychainLocked, AuthenticationFailed
def refused(kind, call):
    try: call()
    except kind as error: return error.status
    return 'not refused'
try: valet.unlock('wrong')
except valet.KeychainError as error: print(type(error).__name__)
print(valet.state().lock_state.name, refused(KeychainLocked, lambda: v.get('key')))
valet.unlock({support.PASSCODE!r})
v['key'] = b'value'
print(valet.state().lock_state.name, valet.state().protection_level.name, v['key'])
after = valet.Valet('Mailer', accessibility=Accessibility.AFTER_FIRST_UNLOCK)
after['key'] = b'after'
valet.lock()
print(valet.state().lock_state.name, refused(KeychainLocked, lambda: v.get('key')), after['key'])
valet.wait(Accessibility.AFTER_FIRST_UNLOCK, 0)
print(refused(KeychainLocked, lambda: valet.wait(Accessibility.WHEN_UNLOCKED, 0.1)))
valet.unlock(bytearray({support.PASSCODE.encode()!r}), duration=3600, auto_lock=600)
print(v['key'])
valet.lock(all=True)
try: v['key']
except KeychainLocked as error: print(error.hint)
print(refused(KeychainLocked, lambda: after.get('key')))
"""
    assert support.python(code, home=protected_home).split("\n") == [
        "AuthenticationFailed", "BEFORE_FIRST_UNLOCK -25308", "UNLOCKED PASSCODE b'value'",
        "LOCKED -25308 b'after'", "-25308", "b'value'",
        "call `valet.unlock`, or set $VALET_PASSCODE_FD to a descriptor that supplies the passcode",
        "-25308"]


def test_waiting_ends_when_another_thread_unlocks(protected_home):
    code = BEGIN + f"""
import threading, time
begun = time.monotonic()
threading.Timer(0.5, lambda: valet.unlock({support.PASSCODE!r})).start()
valet.wait(valet.Accessibility.WHEN_UNLOCKED, 30)
print(0.4 < time.monotonic() - begun < 20, valet.state().lock_state.name)
"""
    assert support.python(code, home=protected_home) == "True UNLOCKED"


def test_waiting_lets_other_threads_run_and_obeys_control_c(protected_home):
    code = BEGIN + """
import os, signal, threading, time
gaps, done = [], threading.Event()
def beat():
    last = time.monotonic()
    while not done.wait(0.01):
        gaps.append(time.monotonic() - last)
        last = time.monotonic()
threading.Thread(target=beat).start()
threading.Timer(1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
begun = time.monotonic()
try: valet.wait(valet.Accessibility.WHEN_UNLOCKED, 50)
except KeyboardInterrupt: print('interrupted', time.monotonic() - begun < 10)
done.set()
print(len(gaps) > 10)
"""
    assert support.python(code, home=protected_home).split("\n") == ["interrupted True", "True"]


@pytest.fixture
def pinentry(tmp_path):
    """A pinentry that notes each question and gives the answer of a file."""
    program = tmp_path / "pinentry"
    program.write_text(f"""#!/bin/sh
echo OK
while read -r verb rest; do
    case $verb in
    GETPIN) echo asked >>{tmp_path}/asked; printf 'D %s\\nOK\\n' "$(cat {tmp_path}/answer)" ;;
    SETDESC) echo "$rest" >>{tmp_path}/reasons; echo OK ;;
    BYE) echo OK; exit ;;
    *) echo OK ;;
    esac
done
""")
    program.chmod(0o700)
    (tmp_path / "asked").touch()
    (tmp_path / "answer").write_text(support.PASSCODE)
    return program


def test_enclave_values_are_read_only_with_their_user(protected_home, pinentry):
    folder = pinentry.parent
    code = BEGIN + f"""
valet.unlock({support.PASSCODE!r})
asked = lambda: len(open('{folder}/asked').readlines())
enclave = valet.SecureEnclaveValet('Mailer', access_control=valet.AccessControl.DEVICE_PASSCODE)
enclave.set('key', b'value')
finger = valet.SecureEnclaveValet('Mailer', access_control=valet.AccessControl.BIOMETRIC_ANY)
print(enclave.can_meet_access_control(), finger.can_meet_access_control())
print(enclave.can_access_keychain(), finger.can_access_keychain())
print(enclave.contains('key'), asked())
try: enclave.get('key', None)
except valet.KeychainLocked as error: print('not asked', asked(), error.hint)
print(enclave.get('key', 'Sign in'), enclave.get_text('key', 'Sign in'), asked())
with enclave.secret('key', 'Sign in') as view: print(bytes(view), asked())
open('{folder}/answer', 'w').write('wrong')
try: enclave.get('key', 'Sign in')
except (valet.UserCancelled, valet.AuthenticationFailed): print('refused')
enclave.remove('key')
print(enclave.contains('key'))
"""
    output = support.python(code, home=protected_home, VALET_PINENTRY=str(pinentry))
    assert output.split("\n") == [
        "True False", "True True",
        "True 0", "not asked 0 give the call a prompt, so that it may ask the user",
        "b'value' value 2", "b'value' 3", "refused", "False"]
    assert "Sign in" in (folder / "reasons").read_text()


def test_a_single_prompt_valet_asks_once_until_it_is_reset(protected_home, pinentry):
    code = BEGIN + f"""
valet.unlock({support.PASSCODE!r})
asked = lambda: len(open('{pinentry.parent}/asked').readlines())
single = valet.SinglePromptSecureEnclaveValet('Mailer')
single.set('one', b'1')
single.set('two', b'2')
print(single.get('one', 'Sign in'), single.get('two', 'Sign in'), asked())
single.require_prompt_on_next_access()
print(single.get('one', 'Sign in'), asked(), single.keys('List'))
enclave = valet.SecureEnclaveValet('Mailer')
try: enclave.migrate(valet.SinglePromptSecureEnclaveValet('Mailer'))
except valet.KeychainLocked: print('not asked', asked())
fresh = valet.SinglePromptSecureEnclaveValet('Mailer')
enclave.migrate(fresh, prompt='Move', remove_on_completion=True)
print(asked(), enclave.keys('List'), single.contains('one'))
"""
    output = support.python(code, home=protected_home, VALET_PINENTRY=str(pinentry))
    assert output.split("\n") == [
        "b'1' b'2' 1", "b'1' 2 ['one', 'two']", "not asked 2", "3 ['one', 'two'] False"]
