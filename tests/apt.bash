# shellcheck shell=bash disable=SC2154 # $work is the caller's
# Packages of another suite than this machine's own, to be unpacked and not installed. To be sourced, with:
#   $work   a folder of one's own, where all this is kept
#   fail    a function that ends the script with a reason

# An apt that looks at these suites only, believes that nothing is installed, and keeps all it does in $work.
#   private_apt SUITES COMPONENTS, which may be lists in one word each
private_apt() {
    local distribution uri keyring
    # shellcheck source=/dev/null
    distribution=$(. /etc/os-release && echo "$ID")
    uri=$(mirror)
    keyring=$(first_of /usr/share/keyrings/"$distribution"-archive-keyring.{gpg,pgp})
    mkdir -p "$work"/{lists,archives}/partial
    : >"$work/status"
    cat >"$work/these.sources" <<END
Types: deb
URIs: $uri
Suites: $1
Components: $2
Architectures: $(dpkg --print-architecture)
Targets: Packages
Signed-By: $keyring
END
    cat >"$work/apt.conf" <<END
Dir::Etc::sourcelist "$work/these.sources";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "$work";
Dir::State::lists "$work/lists";
Dir::State::status "$work/status";
Dir::Cache "$work";
Dir::Cache::archives "$work/archives";
Acquire::http::Timeout "20";
Acquire::Retries "3";
APT::Sandbox::User "$(id -un)";
END
    export APT_CONFIG=$work/apt.conf
}

# Fetches these packages and all they depend on, and unpacks them into $work/all.
#   unpack_packages SUITE PACKAGE...
unpack_packages() {
    local suite=$1 deb
    shift
    apt-get update -qq || fail "apt-get update of $suite failed"
    apt-get install -qq --yes --download-only --no-install-recommends --target-release "$suite" "$@" ||
        fail "this mirror's $suite has no $* that can be had"
    for deb in "$work"/archives/*.deb; do
        dpkg --extract "$deb" "$work/all"
    done
}

# Where this machine gets its own suite from, whether or not it has ever asked.
mirror() {
    local uris suite found
    uris=$(apt-get update --print-uris)
    # shellcheck source=/dev/null
    for suite in "$(. /etc/os-release && echo "${VERSION_CODENAME-}")" '[^/]*'; do
        found=$(sed -n "s|^'\(.*\)/dists/$suite/InRelease'.*|\1|p" <<<"$uris" | head -n 1)
        [ -n "$found" ] && echo "$found" && return
    done
    fail "apt has no source of packages"
}

first_of() {
    local file
    for file in "$@"; do
        [ -e "$file" ] && echo "$file" && return
    done
    fail "there is no ${1##*/}"
}
