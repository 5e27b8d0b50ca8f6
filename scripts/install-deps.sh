#!/bin/sh
# Install what this project needs from Debian's packages, and nothing else. Idempotent.
#
#   scripts/install-deps.sh build   compile sbx and make the base image
#   scripts/install-deps.sh test    the same, and all that the tests start or call
#   scripts/install-deps.sh soak    the same, and what only long runs call or compare with (scripts/soak.sh)
set -eu

BUILD='gcc libc6-dev linux-libc-dev cmake ninja-build pkg-config
 libyaml-dev libjansson-dev libssl-dev libidn2-dev libpcre2-dev libcurl4-openssl-dev libarchive-dev zlib1g-dev
 libseccomp-dev libnghttp2-dev libgit2-dev runc debootstrap ca-certificates curl git python3 iproute2 util-linux xz-utils zstd'
TEST='libcmocka-dev clang clang-format clang-tidy valgrind docker.io docker-registry apache2-utils skopeo umoci
 tmux jq openssl openssh-server busybox-static shellcheck procps zsh fish nftables socat strace file
 python3-jsonschema python3-yaml tinyproxy lighttpd lighttpd-mod-openssl nghttp2-client nghttp2-server python3-grpcio'
SOAK='gcovr squid nodejs golang-go faketime redis-server musl-tools openjdk-17-jdk-headless'

case ${1:-} in
build) wanted=$BUILD ;;
test) wanted="$BUILD $TEST" ;;
soak) wanted="$BUILD $TEST $SOAK" ;;
*) sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac

missing=''
for package in $wanted; do
    case $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) in
    *' installed') ;;
    *) missing="$missing $package" ;;
    esac
done

as_root=''
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "install-deps: not root and no sudo; missing:$missing" >&2; exit 1; }
    as_root=sudo
fi
if [ -n "$missing" ]; then
    echo "installing:$missing"
    $as_root apt-get update -qq
    # No service starts by being installed: tests start what they need themselves, and stop it.
    policy=/usr/sbin/policy-rc.d made=''
    if [ ! -e $policy ]; then
        printf '#!/bin/sh\nexit 101\n' | $as_root tee $policy >/dev/null
        $as_root chmod 755 $policy
        made=yes
    fi
    status=0
    # shellcheck disable=SC2086 # a list of package names
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing \
        >/dev/null || status=$?
    [ -z "$made" ] || $as_root rm -f $policy
    [ $status = 0 ] || { echo "install-deps: apt-get failed" >&2; exit $status; }
fi
# The gate of a sandbox that root made runs as this user.
getent passwd sbx-gate >/dev/null ||
    $as_root useradd --system --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin sbx-gate
