#!/usr/bin/env bash
# Everything that has to pass, on a fresh Debian-like machine with a Rust toolchain (rustup stable, gcc) and nothing
# else. CI runs exactly this. Missing tools are installed: PostgreSQL's server by apt-get, cargo-deny by cargo into
# target/tools. Needs no input and stops by itself. (Debian starts a database service when it installs the server; the
# tests do not use it.)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec </dev/null
export CI=true CARGO_TERM_COLOR=never CARGO_TERM_PROGRESS_WHEN=never

readonly DENY_VERSION=0.20.2
TOOLS=$(realpath --canonicalize-missing "${CARGO_TARGET_DIR:-target}")/tools
readonly TOOLS

fail() {
    printf 'scripts/test.sh: %s\n' "$*" >&2
    exit 1
}

# stage NAME SECONDS COMMAND…: runs the command, at most that long.
stage() {
    local name=$1 limit=$2 start=$SECONDS status=0
    shift 2
    printf '\n=== %s\n' "$name"
    timeout --kill-after=10 "$limit" "$@" || status=$?
    if ((status == 124 || status == 137)); then
        fail "$name was stopped after $limit s"
    elif ((status != 0)); then
        fail "$name failed (status $status) after $((SECONDS - start)) s"
    fi
    printf '=== %s: ok, %d s\n' "$name" "$((SECONDS - start))"
}

has_postgres() {
    compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null
}

install_postgres() {
    local as_root=()
    command -v apt-get >/dev/null || fail "PostgreSQL's server is missing and there is no apt-get: install it by hand"
    if ((EUID != 0)); then
        sudo -n true 2>/dev/null || fail "PostgreSQL's server is missing: run 'sudo apt-get install postgresql' first"
        as_root=(sudo -n)
    fi
    as_root+=(env DEBIAN_FRONTEND=noninteractive)
    stage 'package lists' 300 "${as_root[@]}" apt-get update -q
    stage 'PostgreSQL' 600 "${as_root[@]}" apt-get install -q -y --no-install-recommends postgresql
    has_postgres || fail "apt-get installed postgresql, yet /usr/lib/postgresql/*/bin/initdb is not there"
}

has_deny() {
    [[ $("$TOOLS/bin/cargo-deny" --version 2>/dev/null) == "cargo-deny $DENY_VERSION" ]]
}

command -v cargo >/dev/null || fail "cargo is missing: install Rust with rustup (https://rustup.rs)"
cargo fmt --version >/dev/null 2>&1 || stage 'rustfmt' 300 rustup component add rustfmt
cargo clippy --version >/dev/null 2>&1 || stage 'clippy' 300 rustup component add clippy
has_postgres || install_postgres
# The debug profile builds in under a minute and checks as well.
has_deny || stage "cargo-deny $DENY_VERSION" 1200 \
    cargo install cargo-deny --locked --version "$DENY_VERSION" --profile dev --root "$TOOLS"

stage 'format' 60 cargo fmt --check
stage 'clippy' 1200 cargo clippy --all-targets --locked -- -D warnings
stage 'bans, licences, sources' 300 "$TOOLS/bin/cargo-deny" --locked check bans licenses sources
if timeout --kill-after=10 60 "$TOOLS/bin/cargo-deny" fetch db >/dev/null 2>&1; then
    stage 'advisories' 120 "$TOOLS/bin/cargo-deny" --locked check --disable-fetch advisories
else
    printf '\n=== advisories: NOT CHECKED, the advisory database cannot be fetched from here\n'
fi
stage 'documentation' 600 env RUSTDOCFLAGS='-D warnings' cargo doc --locked --no-deps --document-private-items
stage 'examples in the documentation' 600 cargo test --locked --doc
stage 'build of the tests' 1500 cargo test --locked --no-run
printf '\n=== tests (%d s so far)\n' "$SECONDS"
exec timeout --kill-after=10 1200 cargo test --locked --no-fail-fast --lib --bins --test it
