# Finds or brings interpreters; sourced by setup.sh during a set-up only.

# Sets _python to the real path of a whole CPython of the first version that can be had, and _python_version.
_provide_python() { # VERSION...
    for _source in path pyenv uv uv_download debian; do
        for _python_version in "$@"; do
            if "_from_$_source" "$_python_version"; then
                return
            fi
        done
    done
    _fail "no CPython $(echo "$*" | sed 's/ / or /g') was found on PATH, under pyenv or among uv's, and neither uv nor a Debian mirror could supply one." \
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

# From the locked packages of python-VERSION.debs, through whatever Debian mirrors this machine's apt is told to use.
_from_debian() {
    _lock="$_bootstrap/python-$1.debs"
    [ -f "$_lock" ] && command -v dpkg-deb >/dev/null || return 1
    _tree="$_root/debian-python-$1-$(sha256sum "$_lock" "$_bootstrap/pythons.sh" | sha256sum | cut -c 1-12)"
    _accept "$_tree/usr/bin/python$1" "$1" && return 0
    _say "unpacking CPython $1 from Debian's packages"
    rm -rf "$_tree"
    mkdir -p "$_tree/packages"
    while read -r _package _version _architecture _suite _path _size _sha256; do
        case "$_package" in "#"* | "") continue ;; esac
        _deb="$_tree/packages/$_package.deb"
        _fetch_deb || { _say "no mirror of this machine has $_package $_version"; return 1; }
        dpkg-deb --extract "$_deb" "$_tree" && rm "$_deb" || return 1
    done <"$_lock"
    _relocate "$1" && _accept "$_tree/usr/bin/python$1" "$1"
}

# The locked package at _path with _sha256, to _deb, from the first mirror that has it.
_fetch_deb() {
    for _mirror in $(_debian_mirrors); do
        _download "${_mirror%/}/$_path" "$_deb" 2>/dev/null || continue
        [ "$(sha256sum <"$_deb")" = "$_sha256  -" ] && return 0
        rm -f "$_deb"
    done
    return 1
}

_debian_mirrors() {
    {
        apt-get indextargets --format '$(REPO_URI)' 2>/dev/null
        # Before the first `apt-get update` there are no targets, only sources.
        cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null | sed -n 's/^deb  *\(\[[^]]*\] *\)\{0,1\}\([^ ]*\).*/\2/p'
        cat /etc/apt/sources.list.d/*.sources 2>/dev/null | sed -n 's/^URIs: *//p' | tr ' ' '\n'
    } | grep -E '^(https?|file|copy):' | sed 's:/*$::' | awk '!seen[$0]++'
}

_download() { # URL FILE; apt's own client first: it knows apt's proxies and certificates
    if [ -x /usr/lib/apt/apt-helper ] && timeout 120 /usr/lib/apt/apt-helper -o Acquire::Retries=1 download-file "$1" "$2" >/dev/null; then
        return 0
    fi
    rm -f "$2"
    if command -v curl >/dev/null; then
        curl -fsSL --connect-timeout 10 --max-time 120 -o "$2" "$1"
    elif command -v wget >/dev/null; then
        wget -q -T 10 -O "$2" "$1"
    else
        python3 -c 'import sys, urllib.request; urllib.request.urlretrieve(*sys.argv[1:])' "$1" "$2"
    fi
}

# Lets the unpacked interpreter find its libraries, its C library where it brought one, and its pip, where it now lies.
_relocate() { # VERSION
    _executable="$_tree/usr/bin/python$1"
    _libraries="$_tree/lib/x86_64-linux-gnu:$_tree/usr/lib/x86_64-linux-gnu"
    _patchelf() { "$_tree/usr/bin/patchelf" "$@"; }
    # DT_RPATH of the executable also serves the libraries that its extension modules need.
    _patchelf --force-rpath --set-rpath "$_libraries" "$_executable" || return 1
    for _loader in "$_tree/usr/lib64/ld-linux-x86-64.so.2" "$_tree/lib64/ld-linux-x86-64.so.2"; do
        if [ -e "$_loader" ]; then
            _patchelf --set-interpreter "$_loader" "$_executable" || return 1
            break
        fi
    done
    # Debian's ensurepip takes pip from a fixed folder.
    grep -rl --include='*.py' /usr/share/python-wheels "$_tree/usr/lib/python$1" | xargs -r sed -i "s:/usr/share/python-wheels:$_tree/usr/share/python-wheels:g"
    "$_executable" -c "import sysconfig" 2>/dev/null
}
