# shellcheck shell=bash
# The tools that packages are built and checked with, kept in target/packaging: from PyPI in the versions of tools.txt, and
# from crates.io those whose releases on PyPI cannot read this workspace. To be sourced in the root of the repository.

readonly TOOLS=$PWD/target/packaging/tools
readonly PACKERS=$PWD/target/packaging/packers

need_tools() {
    if ! cmp -s packaging/tools.txt "$TOOLS/made-of"; then
        # First what says that they are whole, should this be interrupted.
        rm -f "$TOOLS/made-of"
        rm -rf "$TOOLS"
        python3 -m venv "$TOOLS" || fail "there is no Python 3 with venv"
        "$TOOLS/bin/pip" --quiet --disable-pip-version-check install --requirement packaging/tools.txt ||
            fail "PyPI does not give what packaging/tools.txt names"
        cp packaging/tools.txt "$TOOLS/made-of"
    fi
    PATH=$TOOLS/bin:$PATH
    export CARGO_ZIGBUILD_PYTHON_PATH=$TOOLS/bin/python3
}

# One of crates.io: need_packer NAME VERSION
need_packer() {
    need_tools
    local root=$PACKERS/$1-$2
    [ -x "$root/bin/$1" ] || cargo install --quiet --locked --root "$root" "$1@$2" || fail "crates.io does not give $1 $2"
    PATH=$root/bin:$PATH
}

# The standard library for a target of Rust.
need_target() {
    [ -d "$(rustc --print sysroot)/lib/rustlib/$1/lib" ] || rustup --quiet target add "$1" ||
        fail "rustup has no standard library for $1"
}

fail() {
    echo "packaging: $1" >&2
    exit 1
}
