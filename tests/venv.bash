# shellcheck shell=bash disable=SC2154 # $work is the caller's
# A virtual environment of Python with nothing but pip. To be sourced in the project's directory, with:
#   $work   a folder of one's own

# Prints the path of one to copy, or to use for nothing that stays in it. It is made once for each version of Python,
# because making one takes seconds. A copy has to be called by its `bin/python`: its other programs name this path.
pip_venv() {
    local version
    version=$(python3 -c 'import platform; print(platform.python_version())') || return
    local venv=$PWD/target/python-$version
    if [ ! -x "$venv/bin/python" ]; then
        python3 -m venv "$work/new-venv" >&2 || return
        mv "$work/new-venv" "$venv" || return
    fi
    echo "$venv"
}
