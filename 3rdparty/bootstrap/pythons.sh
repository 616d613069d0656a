# Finds or brings interpreters; sourced by setup.sh during a set-up only.

# Sets _python to the real path of a whole CPython of the first version that can be had, and _python_version.
_provide_python() { # VERSION...
    for _source in path pyenv uv uv_download; do
        for _python_version in "$@"; do
            if "_from_$_source" "$_python_version"; then
                return
            fi
        done
    done
    _fail "no CPython $(echo "$*" | sed 's/ / or /g') was found on PATH, under pyenv or among uv's, and none could be downloaded." \
        "Ways out: put python$1 with its venv module on PATH (pyenv install $1, or your distribution's packages)," \
        "or let uv fetch one (uv python install $1), then run this again."
}

# Real path of an interpreter that can make virtual environments with pip; a pyenv shim leads to what it stands for.
_accept() { # CANDIDATE VERSION
    [ -x "$1" ] || return 1
    _python="$("$1" -I -c '
import ensurepip, os, ssl, sys, venv, zlib
assert sys.implementation.name == "cpython" and "%d.%d" % sys.version_info[:2] == sys.argv[1]
print(os.path.realpath(getattr(sys, "_base_executable", sys.executable)))' "$2" 2>/dev/null)" && [ -n "$_python" ]
}

_from_path() {
    _saved_ifs="$IFS"
    IFS=:
    for _folder in $PATH; do
        IFS="$_saved_ifs"
        case "$_folder" in */shims) continue ;; esac
        _accept "$_folder/python$1" "$1" && return 0
    done
    IFS="$_saved_ifs"
    return 1
}

_accept_newest() { # VERSION CANDIDATE...; the shell sorted them
    _wanted="$1" _newest=""
    shift
    for _candidate in "$@"; do
        _accept "$_candidate" "$_wanted" && _newest="$_python"
    done
    _python="$_newest"
    [ -n "$_python" ]
}

_from_pyenv() { _accept_newest "$1" "${PYENV_ROOT:-${HOME:-/}/.pyenv}/versions/$1".*/bin/"python$1"; }

_from_uv() {
    _accept_newest "$1" "${UV_PYTHON_INSTALL_DIR:-${XDG_DATA_HOME:-${HOME:-/}/.local/share}/uv/python}/cpython-$1".*-linux-x86_64-gnu/bin/"python$1" \
        "$_root/uv-python/cpython-$1".*-linux-x86_64-gnu/bin/"python$1"
}

_from_uv_download() {
    _find_uv || return 1
    _say "asking uv for CPython $1"
    UV_PYTHON_INSTALL_DIR="$_root/uv-python" UV_HTTP_TIMEOUT=10 UV_HTTP_RETRIES=1 UV_NO_CONFIG=1 \
        timeout 180 "$_uv" python install --no-bin -q "$1" >&2 || return 1
    _accept_newest "$1" "$_root/uv-python/cpython-$1".*-linux-x86_64-gnu/bin/"python$1"
}

# uv from PATH, or from the package index through any pip of this machine.
_find_uv() {
    _uv="$(command -v uv)" && return 0
    _uv="$_root/uv/bin/uv"
    [ -x "$_uv" ] && return 0
    for _any in python3 python3.13 python3.12 python3.11 python3.10 python3.9; do
        if "$_any" -m pip --version >/dev/null 2>&1; then
            _say "fetching uv from the package index"
            rm -rf "$_root/uv"
            _pip_install "$_any" "$_bootstrap/uv.lock" --target "$_root/uv" && [ -x "$_uv" ] && return 0
        fi
    done
    return 1
}
