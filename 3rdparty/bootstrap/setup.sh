# Prepares everything that Pants needs; sourced by ./pants and by .pants.bootstrap (POSIX sh).
#
#   autoclave_setup CHECKOUT    sets and exports
#     AUTOCLAVE_SETUP           the folder that holds this set-up: venv/ (Pants and a recent pip), pex (the PEX CLI), pythons/
#     AUTOCLAVE_PYTHONS         its folder of interpreters: links python3.9 and python3.12 or python3.13
#     AUTOCLAVE_PEX_URL         where Pants takes the PEX CLI from
#
# A set-up is keyed by the hash of the locks and of this file, and complete when its file `complete` exists. When it is,
# nothing but one hash is computed: no Python starts.

AUTOCLAVE_TEST_PYTHONS="3.13 3.12"

_say() { printf 'pants: %s\n' "$*" >&2; }

_fail() {
    printf 'pants: error: %s\n' "$*" >&2
    exit 1
}

# The first folder of these that we may write: the user's cache, one inside the checkout, one in /tmp that is ours alone.
_cache_root() {
    if [ -n "${XDG_CACHE_HOME:-}" ]; then
        _root="$XDG_CACHE_HOME/autoclave"
    elif [ -n "${HOME:-}" ]; then
        _root="$HOME/.cache/autoclave"
    else
        _root=""
    fi
    if [ -n "$_root" ] && _usable "$_root"; then
        return
    fi
    _root="$1/.pants.d/autoclave"
    if ! _usable "$_root"; then
        _root="${TMPDIR:-/tmp}/autoclave-$(id -u)"
        _usable "$_root" && [ -O "$_root" ] || _fail "no folder can be written for the set-up: set XDG_CACHE_HOME to one"
    fi
    # Pants keeps its own store below the same two variables.
    export XDG_CACHE_HOME="$_root/cache"
    [ -n "${HOME:-}" ] && [ -w "$HOME" ] || export HOME="$_root"
}

_usable() { { [ -d "$1" ] || mkdir -p "$1" 2>/dev/null; } && [ -w "$1" ]; }

autoclave_setup() {
    _checkout="$1"
    _bootstrap="$_checkout/3rdparty/bootstrap"
    _cache_root "$_checkout"
    _key="$(cat "$_bootstrap"/* "$_checkout/3rdparty/pants.lock" | sha256sum)" || _fail "the locks below 3rdparty/ cannot be read"
    AUTOCLAVE_SETUP="$_root/pants-$(printf %.16s "$_key")"
    AUTOCLAVE_PYTHONS="$AUTOCLAVE_SETUP/pythons"
    AUTOCLAVE_PEX_URL="file://$AUTOCLAVE_SETUP/pex"
    export AUTOCLAVE_SETUP AUTOCLAVE_PYTHONS AUTOCLAVE_PEX_URL
    _complete || _set_up_locked
    _tell_pants_about_network
}

# Whole, and the interpreters it links to are still there.
_complete() {
    [ -f "$AUTOCLAVE_SETUP/complete" ] && [ -x "$AUTOCLAVE_SETUP/venv/bin/python" ] && [ -f "$AUTOCLAVE_SETUP/pex" ] || return 1
    for _link in "$AUTOCLAVE_PYTHONS"/python*; do
        [ -x "$_link" ] || return 1
    done
}

# Pants hides pip's variables from its processes and has options of its own for them.
_tell_pants_about_network() {
    if [ -n "${SSL_CERT_FILE:-}" ] && [ -f "$SSL_CERT_FILE" ]; then
        export PANTS_CA_CERTS_PATH="${PANTS_CA_CERTS_PATH:-$SSL_CERT_FILE}"
    fi
    if [ -n "${PIP_INDEX_URL:-}" ]; then
        export PANTS_PYTHON_REPOS_INDEXES="${PANTS_PYTHON_REPOS_INDEXES:-['$PIP_INDEX_URL']}"
    fi
}

_set_up_locked() {
    case "$(uname -s) $(uname -m)" in
        "Linux x86_64") ;;
        *) _fail "this is $(uname -s) on $(uname -m); Autoclave builds on Linux x86-64 only." \
            "Ways out: a Linux x86-64 machine, a virtual machine, or a container started with --platform linux/amd64." ;;
    esac
    # The subshell keeps the lock's file descriptor and the environment's cleaning away from Pants.
    (
        if ! flock -n 9; then
            _say "another start is setting Pants up; waiting for it"
            flock 9
        fi
        _complete || _set_up
        _complete || _fail "the set-up in $AUTOCLAVE_SETUP is not whole; remove that folder and try again"
    ) 9>"$AUTOCLAVE_SETUP.lock" || exit 1
}

_set_up() {
    unset PYTHONPATH PYTHONHOME PIP_CONSTRAINT PIP_TARGET PIP_USER PIP_PREFIX PIP_ROOT PIP_REQUIREMENT VIRTUAL_ENV
    # A machine-wide configuration may constrain versions, which locked installs refuse; what the user exports stays.
    export PIP_CONFIG_FILE=/dev/null PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1
    . "$_bootstrap/pythons.sh"
    _say "setting up Pants in $AUTOCLAVE_SETUP (once; about a minute)"
    rm -rf "$AUTOCLAVE_SETUP"
    mkdir -p "$AUTOCLAVE_PYTHONS"
    _provide_python 3.9
    _pants_python="$_python"
    ln -s "$_pants_python" "$AUTOCLAVE_PYTHONS/python3.9"
    # shellcheck disable=SC2086 # a list of versions
    _provide_python $AUTOCLAVE_TEST_PYTHONS
    ln -s "$_python" "$AUTOCLAVE_PYTHONS/python$_python_version"
    _make_venv
    _build_pex_cli
    : >"$AUTOCLAVE_SETUP/complete.new"
    mv "$AUTOCLAVE_SETUP/complete.new" "$AUTOCLAVE_SETUP/complete"
    _say "ready"
}

_pip_install() { # PYTHON LOCK [OPTIONS]
    _pip_python="$1" _pip_lock="$2"
    shift 2
    "$_pip_python" -m pip install -q --require-hashes --no-deps --only-binary :all: --no-warn-script-location \
        -r "$_pip_lock" "$@" >&2
}

_make_venv() {
    _say "installing Pants from 3rdparty/pants.lock"
    _venv="$AUTOCLAVE_SETUP/venv"
    "$_pants_python" -m venv "$_venv" >&2 || _fail "$_pants_python cannot make a virtual environment (see above)"
    for _lock in "$_bootstrap/pip.lock" "$_checkout/3rdparty/pants.lock"; do
        _pip_install "$_venv/bin/python" "$_lock" || _fail "the packages of ${_lock#"$_checkout/"} could not be installed (see above)." \
            "The index is taken from PIP_INDEX_URL, a proxy from HTTPS_PROXY, certificates from PIP_CERT or SSL_CERT_FILE."
    done
    # The wheel ships Pants' native client without its run bit.
    _client="$(cd "$_venv" && echo lib/python3*/site-packages/pants/bin/native_client)"
    chmod +x "$_venv/$_client"
    ln -s "../$_client" "$_venv/bin/native_client"
    { printf '#!%s\n' "$_venv/bin/python" && cat "$_bootstrap/start_pants.py"; } >"$_venv/bin/start-pants"
    chmod +x "$_venv/bin/start-pants"
}

# Bit-identical wherever it is built; Pants checks the sha256 that pants.toml names.
_build_pex_cli() {
    _say "building the PEX CLI"
    _work="$AUTOCLAVE_SETUP/pex.work"
    mkdir -p "$_work"
    _pip_install "$_venv/bin/python" "$_bootstrap/pex.lock" --target "$_work/lib" || _fail "the PEX CLI's package could not be had (see above)"
    _requirement="$(sed -n 's/^\(pex==[^ ]*\).*/\1/p' "$_bootstrap/pex.lock")"
    PYTHONPATH="$_work/lib" PEX_ROOT="$_work/root" "$_venv/bin/python" -m pex "$_requirement" -c pex --no-compress --no-emit-warnings \
        --python-shebang '/usr/bin/env python3' -o "$_work/pex" >&2 || _fail "the PEX CLI could not be built (see above)"
    _sha256="$(sha256sum "$_work/pex")"
    _sha256="${_sha256%% *}"
    grep -q "|linux_x86_64|$_sha256|" "$_checkout/pants.toml" || _fail "the PEX CLI that was built has the sha256 $_sha256," \
        "which [pex-cli].known_versions in pants.toml does not name"
    mv "$_work/pex" "$AUTOCLAVE_SETUP/pex"
    rm -rf "$_work"
}
