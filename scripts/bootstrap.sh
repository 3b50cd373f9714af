#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the packages that building needs, and those that testing or packaging needs.
set -euo pipefail

needed_major=6 needed_minor=3
hint="get Swift $needed_major.$needed_minor or newer from https://www.swift.org/install"
folder="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
lists=("$folder/packages.txt")

usage() {
    cat <<END
usage: scripts/bootstrap.sh [--help | --tests | --release]

Checks for Swift $needed_major.$needed_minor or newer and installs the Debian packages that building
and running Valet need (scripts/packages.txt), with sudo unless run as root. Changes nothing if all
of them are installed.

--tests     also installs the packages that tests need (scripts/packages-test.txt)
--release   also installs the packages that scripts/package needs (scripts/packages-release.txt)
END
}

fail() {
    printf 'bootstrap: error: %s\n' "$1" >&2
    shift
    for hint in "$@"; do printf 'bootstrap: hint: %s\n' "$hint" >&2; done
    exit 1
}

check_swift() {
    local answer
    answer="$(swift --version 2>&1)" || fail "swift --version fails: $answer" "$hint"
    [[ $answer =~ Swift\ version\ ([0-9]+)\.([0-9]+) ]] \
        || fail "swift --version prints no version: $answer" "$hint"
    local major="${BASH_REMATCH[1]}" minor="${BASH_REMATCH[2]}"
    ((major > needed_major || (major == needed_major && minor >= needed_minor))) \
        || fail "Swift $major.$minor is too old" "$hint"
}

# Prints the packages of the list that are not installed.
missing_packages() {
    local installed name
    # dpkg-query fails when it does not know a name; what it does know is printed all the same.
    # shellcheck disable=SC2016 # the braces are dpkg-query's
    installed="$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null || true)"
    for name in "$@"; do
        grep -qxF "installed $name" <<<"$installed" || printf '%s\n' "$name"
    done
}

install_packages() {
    local -a as_root=()
    if [[ "$(id -u)" != 0 ]]; then
        command -v sudo >/dev/null || fail "not installed: $*" \
            "there is no sudo; as root run: apt-get install --no-install-recommends $*"
        as_root=(sudo)
    fi
    local -a apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive
        apt-get -q -o Acquire::Retries=3 -o DPkg::Lock::Timeout=120)
    printf 'bootstrap: installing %s\n' "$*" >&2
    "${apt[@]}" update || fail "apt-get update fails" "look at the package sources of this machine"
    "${apt[@]}" install -y --no-install-recommends "$@" || fail "apt-get install fails: $*"
}

case "${1-}" in
    "") ;;
    --tests) lists+=("$folder/packages-test.txt") ;;
    --release) lists+=("$folder/packages-release.txt") ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 64 ;;
esac

command -v swift >/dev/null || fail "there is no swift on the PATH" "$hint"
mapfile -t wanted < <(sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "${lists[@]}")
((${#wanted[@]} > 0)) || fail "no package is named in: ${lists[*]}"
if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    fail "this script needs Debian, or a system with its apt-get and dpkg-query" \
        "on other systems install the counterparts of: ${wanted[*]}"
fi
mapfile -t missing < <(missing_packages "${wanted[@]}")
if ((${#missing[@]} > 0)); then install_packages "${missing[@]}"; fi
check_swift
