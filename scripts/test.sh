#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every test, away from the keychain of the user.
set -euo pipefail

usage() {
    cat <<'END'
usage: scripts/test.sh [--help] [ARGUMENT …]
Installs what tests need (scripts/bootstrap.sh --tests), builds with warnings as errors and runs
every test, in processes beside one another. As root it also runs the tests of the kernel's keys as
an ordinary user, at the same time.
ARGUMENTs go to `swift test`, as in: scripts/test.sh --filter KeybagTests

REQUIRE_ALL=1   tests that need more than a plain machine fail instead of being skipped
END
}

case "${1-}" in
    -h | --help) usage; exit 0 ;;
esac

cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/bootstrap.sh --tests

# Tests make thousands of keychains: in memory, if there is room and programs may run there.
parent="${TMPDIR:-/tmp}"
if [[ -z ${TMPDIR-} && -w /dev/shm ]] &&
    (($(df --output=avail --block-size=1M /dev/shm | tail -1) >= 2048)) &&
    ! findmnt --noheadings --output OPTIONS /dev/shm | grep -qw noexec; then
    parent=/dev/shm
fi
folder="$(mktemp -d "$parent/valet-test.XXXXXX")"
beside=()
trap '((${#beside[@]} == 0)) || kill "${beside[@]}" || true; rm -rf -- "$folder"' EXIT
# Some tests run programs as another user.
chmod 1777 "$folder"
mkdir -m 700 "$folder/home"
export TMPDIR="$folder"

# Prints the tests that began and did not end: one that hangs, or those that a crash ended.
not_ended() {
    printf '\n== Tests that did not end:\n'
    { cat "$folder"/log* 2>/dev/null || true; } | sed 's/\x1b\[[0-9;]*m//g' | awk '
        / Test ".*" started\.$/ { split($0, part, "\""); begun[part[2]]++ }
        / Test ".*" .*(passed|failed) after / { split($0, part, "\""); begun[part[2]]-- }
        END { for (name in begun) if (begun[name] > 0) print name }'
}
trap 'exit 130' INT
trap 'not_ended; exit 143' TERM

scripts/build --build-tests --enable-all-traits
VALET_TEST_COMMAND="$(scripts/build --show-bin-path)/valet"
[[ -x $VALET_TEST_COMMAND ]] || {
    printf 'test: error: the build left no %s\n' "$VALET_TEST_COMMAND" >&2
    exit 1
}
export VALET_TEST_COMMAND
export VALET_HOME="$folder/home" VALET_LOCK_STATE=kernel # Shared, unless a test says otherwise.
# Settings of the caller's keychain; tests set their own.
unset STATE_DIRECTORY CREDENTIALS_DIRECTORY VALET_DEVICE_KEY_FILE VALET_ENTITLEMENTS \
    VALET_INTERACTION VALET_PINENTRY VALET_PASSCODE_FD

# Keys of an ordinary user lie in another keyring, under another quota. These tests run beside the
# others, because they mostly wait, and as a user of their own, whose keychains nobody else locks.
user=$((RANDOM + 100000))
ordinary=(setpriv --reuid="$user" --regid="$user" --clear-groups)
as_ordinary_user() {
    local own="$folder/ordinary"
    mkdir -m 700 "$own"
    chown "$user:$user" "$own"
    # Without the tests that need two users: root runs these.
    exec env -u REQUIRE_ALL TMPDIR="$own" HOME="$own" VALET_HOME="$own/home" "${ordinary[@]}" \
        "$(dirname "$VALET_TEST_COMMAND")/ValetPackageTests.xctest" \
        --testing-library swift-testing --filter '^ValetLockStateTests'
}
# These run beside the others, in processes of their own: most tests wait, and in one process all of
# them would wait for a few threads.
apart=(IntegrationTests KeychainStoreTests)
run_apart() {
    exec "$(dirname "$VALET_TEST_COMMAND")/ValetPackageTests.xctest" \
        --testing-library swift-testing --filter "^Valet$1"
}
if ((EUID == 0 && $# == 0)); then
    if "${ordinary[@]}" test -x "$VALET_TEST_COMMAND" -a -r Tests/Vectors; then
        as_ordinary_user >"$folder/log.ordinary-user" 2>&1 &
        beside+=($!)
    else
        printf 'test: skipped tests of an ordinary user, which cannot read %s\n' "$PWD" >&2
        [[ ${REQUIRE_ALL-} != 1 ]] || exit 1
    fi
fi
if (($# == 0)); then
    for module in "${apart[@]}"; do
        run_apart "$module" >"$folder/log.$module" 2>&1 &
        beside+=($!)
        set -- "$@" --skip "^Valet$module"
    done
fi

code=0
swift test --skip-build --enable-all-traits "$@" 2>&1 | tee "$folder/log" || code=$?
while ((${#beside[@]} > 0)); do
    wait "${beside[0]}" || code=$?
    beside=("${beside[@]:1}")
done
for log in "$folder"/log.*; do
    if [[ -e $log ]]; then
        printf '\n== %s:\n' "${log##*.}"
        cat "$log"
    fi
done
# Repeated at the end, where readers of a long log look first.
if ((code != 0)); then
    printf '\n== Failures:\n'
    grep -haE '✘|↳|error:|unexpected signal' "$folder"/log* || true
    not_ended
    exit "$code"
fi
