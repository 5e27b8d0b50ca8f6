#!/bin/sh
# Build the base image sbx.local/base:bookworm from Debian packages, as a `docker save` archive.
#
#   scripts/base-image.sh [--output FILE] [--force] [--load SBX [--runtime docker|oci]]...
#
# --output FILE  where the archive goes (default: $XDG_CACHE_HOME/sbx-base/base-bookworm.tar)
# --force        build again although the archive is there and as new as this script
# --load SBX     then load it with this sbx program: `SBX --runtime R template load FILE`
# --runtime R    runtime of the load (default auto)
#
# Needs root (debootstrap makes device nodes and owners) and a Debian mirror: SBX_DEBIAN_MIRROR, else the first
# http(s) mirror of this machine's apt, else deb.debian.org. Takes well under a minute, downloads apart.
set -eu

NAME=sbx.local/base
TAG=bookworm
# sudo: agents install packages. git, curl: nearly every kit. procps: ps and pkill, which agents call.
PACKAGES=ca-certificates,curl,git,less,procps,sudo

output=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/sbx-base/base-$TAG.tar
force=no load='' runtime=auto
die() { echo "base-image: $*" >&2; exit 1; }
while [ $# -gt 0 ]; do
    case $1 in
    --output) output=${2:?--output needs a file}; shift 2 ;;
    --force) force=yes; shift ;;
    --load) load=${2:?--load needs the sbx program}; shift 2 ;;
    --runtime) runtime=${2:?--runtime needs docker, oci or auto}; shift 2 ;;
    -h | --help) sed -n '2,14s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "base-image: unknown argument $1 (see --help)" >&2; exit 2 ;;
    esac
done

mirror() {
    if [ -n "${SBX_DEBIAN_MIRROR:-}" ]; then
        echo "$SBX_DEBIAN_MIRROR"
        return
    fi
    found=$(sed -n -e 's/^URIs: *\(https\{0,1\}:[^ ]*\/debian\/\{0,1\}\)\( .*\)\{0,1\}$/\1/p' \
        -e 's/^deb \(\[[^]]*\] \)\{0,1\}\(https\{0,1\}:[^ ]*\/debian\/\{0,1\}\) .*/\2/p' \
        /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources \
        2>/dev/null | head -n 1)
    echo "${found:-http://deb.debian.org/debian}"
}

sum() { sha256sum "$1" | cut -d' ' -f1; }

# What debootstrap leaves and no sandbox needs; the package lists go too (a kit that installs packages updates them).
slim() {
    rm -rf "$1"/var/cache/apt/*.bin "$1"/var/cache/apt/archives/*.deb "$1"/var/lib/apt/lists/* \
        "$1"/var/log/*.log "$1"/var/log/apt "$1"/var/cache/debconf/*-old "$1"/var/cache/ldconfig/aux-cache \
        "$1"/etc/resolv.conf "$1"/etc/hostname
    find "$1/usr/share/locale" -mindepth 1 -maxdepth 1 ! -name 'en*' -exec rm -rf {} +
    find "$1/usr/share/doc" -type f ! -name copyright -delete
    rm -rf "$1"/usr/share/man/* "$1"/usr/share/info/*
    find "$1/dev" -mindepth 1 -delete # the runtime makes /dev
    : >"$1/etc/machine-id"
}

# The agent (uid 1000), its home and workspace, sudo without a password: the container is the boundary.
agent() {
    chroot "$1" useradd --uid 1000 --user-group --create-home --shell /bin/bash agent
    echo 'agent ALL=(ALL:ALL) NOPASSWD:ALL' >"$1/etc/sudoers.d/agent"
    chmod 0440 "$1/etc/sudoers.d/agent"
    install -d -o 1000 -g 1000 "$1/home/agent/workspace"
}

sources() {
    rm -f "$1/etc/apt/sources.list"
    cat >"$1/etc/apt/sources.list.d/debian.sources" <<SOURCES
Types: deb
URIs: http://deb.debian.org/debian
Suites: $TAG $TAG-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://deb.debian.org/debian-security
Suites: $TAG-security
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
SOURCES
}

# One layer, one config, one manifest.json: the format of `docker save`.
archive() { # rootfs workdir file
    tar -C "$1" --numeric-owner --sort=name --mtime=@0 --xattrs --xattrs-include='security.*' \
        -cf "$2/layer.tar" .
    diff_id=$(sum "$2/layer.tar")
    architecture=$(dpkg --print-architecture)
    cat >"$2/config.json" <<CONFIG
{"architecture":"$architecture","os":"linux","created":"1970-01-01T00:00:00Z","config":{"User":"agent","Env":["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin","LANG=C.UTF-8"],"Cmd":["bash"],"WorkingDir":"/home/agent/workspace","Labels":{"org.opencontainers.image.title":"sbx base","org.opencontainers.image.base.name":"debian:$TAG"}},"rootfs":{"type":"layers","diff_ids":["sha256:$diff_id"]},"history":[{"created":"1970-01-01T00:00:00Z","created_by":"scripts/base-image.sh"}]}
CONFIG
    config=$(sum "$2/config.json")
    mkdir "$2/save" "$2/save/$diff_id"
    mv "$2/layer.tar" "$2/save/$diff_id/layer.tar"
    mv "$2/config.json" "$2/save/$config.json"
    printf '[{"Config":"%s.json","RepoTags":["%s:%s"],"Layers":["%s/layer.tar"]}]\n' \
        "$config" "$NAME" "$TAG" "$diff_id" >"$2/save/manifest.json"
    printf '{"%s":{"%s":"%s"}}\n' "$NAME" "$TAG" "$diff_id" >"$2/save/repositories"
    tar -C "$2/save" --numeric-owner --owner=0 --group=0 --sort=name --mtime=@0 -cf "$3" .
}

build() {
    [ "$(id -u)" = 0 ] || die "building the base image needs root: sudo $0 (or give an image of your own with --template)"
    command -v debootstrap >/dev/null || die "debootstrap is missing: apt-get install debootstrap"
    mkdir -p "$(dirname "$output")"
    work=$(mktemp -d "${TMPDIR:-/tmp}/sbx-base.XXXXXX")
    trap 'rm -rf "$work" "$output.part"' EXIT
    trap 'exit 130' INT TERM
    echo "base-image: debootstrap $TAG from $(mirror)"
    debootstrap --variant=minbase --include="$PACKAGES" "$TAG" "$work/root" "$(mirror)" \
        >"$work/debootstrap.log" 2>&1 || { tail -n 20 "$work/debootstrap.log" >&2; die "debootstrap failed"; }
    sources "$work/root"
    agent "$work/root"
    slim "$work/root"
    archive "$work/root" "$work" "$output.part"
    mv "$output.part" "$output"
    echo "base-image: wrote $output ($(du -h "$output" | cut -f1))"
}

if [ "$force" = yes ] || [ ! -s "$output" ] || [ -n "$(find "$0" -newer "$output")" ]; then
    build
else
    echo "base-image: $output is up to date"
fi
if [ -n "$load" ]; then
    "$load" template load --runtime "$runtime" "$output"
fi
