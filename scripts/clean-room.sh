#!/bin/bash
# Run a command from a clean clone of this tree in a fresh, minimal Debian 12 that was made for it, so that what
# this machine happens to have installed cannot hide a missing step.
#
#   scripts/clean-room.sh [--keep] [COMMAND...]      default: both README commands
#
# A mount and pid namespace with pivot_root (a plain chroot cannot make user namespaces); network and cgroups are
# the machine's; while tests run on it: scripts/clean-room.sh env SBX_FIXTURE_NET=203.0.113 ./scripts/quickstart.sh
# Needs root and debootstrap. The bare system is cached in $XDG_CACHE_HOME/sbx-base/clean-room.tar.
set -euo pipefail
cd "$(dirname "$0")/.."

keep=no
if [ "${1:-}" = --keep ]; then
    keep=yes
    shift
fi
[ "$(id -u)" = 0 ] || { echo "clean-room: needs root" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "clean-room: apt-get install debootstrap" >&2; exit 1; }

cache=${XDG_CACHE_HOME:-$HOME/.cache}/sbx-base
room=$(mktemp -d "${SBX_CLEAN_ROOM_DIR:-/var/tmp}/sbx-clean-room.XXXXXX")
cleanup() {
    if [ "$keep" = yes ]; then
        echo "clean-room: kept at $room"
    else
        rm -rf --one-file-system "$room"
    fi
}
trap cleanup EXIT

mkdir -p "$cache"
if [ ! -s "$cache/clean-room.tar" ]; then
    debootstrap --variant=minbase --include=ca-certificates bookworm "$room" "${SBX_DEBIAN_MIRROR:-http://deb.debian.org/debian}" \
        >"$cache/clean-room.log"
    tar -C "$room" --xattrs -cf "$cache/clean-room.tar.part" .
    mv "$cache/clean-room.tar.part" "$cache/clean-room.tar"
else
    tar -C "$room" --xattrs -xpf "$cache/clean-room.tar"
fi
chmod 755 "$room" # it becomes /
# What this machine needs to reach its package mirror is the machine's business, not the project's.
cp -L /etc/resolv.conf "$room/etc/resolv.conf"
cp /etc/hosts "$room/etc/hosts"
for f in /etc/apt/apt.conf.d/99*; do
    [ ! -f "$f" ] || cp "$f" "$room/etc/apt/apt.conf.d/"
done
cp -a /etc/ssl/certs/. "$room/etc/ssl/certs/" 2>/dev/null || true
# In root's home, which is closed to others: where a newcomer would put it.
git clone -q --no-hardlinks . "$room/root/sbx"
if [ -d ../shared ]; then
    cp -a ../shared "$room/root/shared"
fi

if [ $# -eq 0 ]; then
    set -- sh -c './scripts/quickstart.sh && ./scripts/test.sh'
fi
printf '%q ' "$@" >"$room/command"

inside=$(cat <<'INSIDE'
set -eu
room=$1
mount --make-rprivate /
mount --bind "$room" "$room"
cd "$room"
mount -t proc proc proc
mount --rbind /sys sys
mount -t tmpfs -o mode=755 tmpfs dev
for n in null zero full random urandom tty; do
    touch dev/$n
    mount --bind /dev/$n dev/$n
done
mkdir -p dev/pts dev/shm
[ ! -d /dev/net ] || { mkdir dev/net; touch dev/net/tun; mount --bind /dev/net/tun dev/net/tun 2>/dev/null || true; }
touch dev/fuse; [ ! -e /dev/fuse ] || mount --bind /dev/fuse dev/fuse
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
ln -s fd/0 dev/stdin
ln -s fd/1 dev/stdout
ln -s fd/2 dev/stderr
mount -t tmpfs -o mode=1777 tmpfs dev/shm
mount -t tmpfs -o mode=755 tmpfs run
mkdir -p old
pivot_root . old
umount -l /old
cd /root/sbx
exec env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    TERM="${TERM:-dumb}" sh -c "$(cat /command)"
INSIDE
)
unshare --mount --pid --fork --kill-child sh -c "$inside" sh "$room"
