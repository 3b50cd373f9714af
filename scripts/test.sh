#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up and runs every test, away from the keychain of whoever runs it.
set -euo pipefail

usage() {
    cat <<'END'
usage: scripts/test.sh [--help] [ARGUMENT …]

Sets up (scripts/bootstrap.sh), builds with warnings as errors and runs every test; as root those
of the kernel's keys twice, the second time as an ordinary user.
ARGUMENTs go to `swift test`, as in: scripts/test.sh --filter KeybagTests

REQUIRE_ALL=1   tests that need more than a plain machine fail instead of being skipped
END
}

case "${1-}" in
    -h | --help) usage; exit 0 ;;
esac

cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/bootstrap.sh

# Thousands of keychains come and go: in memory, where there is room and programs may run.
parent="${TMPDIR:-/tmp}"
if [[ -z ${TMPDIR-} && -w /dev/shm ]] &&
    (($(df --output=avail --block-size=1M /dev/shm | tail -1) >= 2048)) &&
    ! findmnt --noheadings --output OPTIONS /dev/shm | grep -qw noexec; then
    parent=/dev/shm
fi
folder="$(mktemp -d "$parent/valet-test.XXXXXX")"
trap 'rm -rf -- "$folder"' EXIT
# Some tests run programs as another user.
chmod 1777 "$folder"
mkdir -m 700 "$folder/home"
export TMPDIR="$folder"
trap 'exit 130' INT
trap 'not_ended; exit 143' TERM

scripts/build --build-tests --enable-all-traits
VALET_TEST_COMMAND="$(scripts/build --show-bin-path)/valet"
[[ -x $VALET_TEST_COMMAND ]] || {
    printf 'test: error: the build left no %s\n' "$VALET_TEST_COMMAND" >&2
    exit 1
}
export VALET_TEST_COMMAND
export VALET_HOME="$folder/home"
# Settings of the caller's keychain; a test that wants one sets it.
unset STATE_DIRECTORY CREDENTIALS_DIRECTORY VALET_DEVICE_KEY_FILE VALET_ENTITLEMENTS
unset VALET_INTERACTION VALET_PINENTRY VALET_PASSCODE_FD
# What a command says, and again at the end what failed of it: there whoever reads a log of
# thousands of lines looks first.
reported() {
    local code=0
    "$@" 2>&1 | tee "$folder/log" || code=$?
    if ((code != 0)); then
        printf '\n== What failed:\n'
        grep -aE '✘|↳|error:|unexpected signal' "$folder/log" || true
        not_ended
        exit "$code"
    fi
}

# The tests of the log that began and did not end: one that hangs, or those that a crash ended.
not_ended() {
    [[ -e $folder/log ]] || return 0
    printf '\n== What had not ended:\n'
    sed 's/\x1b\[[0-9;]*m//g' "$folder/log" | awk '
        / Test ".*" started\.$/ { split($0, part, "\""); begun[part[2]]++ }
        / Test ".*" .*(passed|failed) after / { split($0, part, "\""); begun[part[2]]-- }
        END { for (name in begun) if (begun[name] > 0) print name }'
}

reported swift test --skip-build --enable-all-traits "$@"

# Keys of an ordinary user lie in another keyring, under another quota.
if ((EUID == 0 && $# == 0)); then
    export TMPDIR="$folder/ordinary"
    mkdir -m 700 "$TMPDIR"
    chown 65534:65534 "$TMPDIR"
    printf '\n== As an ordinary user:\n'
    # Without what needs two users: that was run before.
    reported env -u REQUIRE_ALL HOME="$TMPDIR" VALET_HOME="$TMPDIR/home" \
        setpriv --reuid=65534 --regid=65534 --clear-groups \
        "$(dirname "$VALET_TEST_COMMAND")/ValetPackageTests.xctest" \
        --testing-library swift-testing --filter '^LockStateTests'
fi
