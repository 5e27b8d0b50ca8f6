#!/bin/bash
# The system's authorities: its directory, which is asked first, and its file, each alone and neither; and those that the environment names.
# shellcheck source=engine/oci/tests/registry.sh disable=SC2034
. "${SBX_SOURCE_DIR:?}/engine/oci/tests/registry.sh"
unshare -m true 2>/dev/null || { echo "SKIPPED: no mounts of its own"; exit 77; }

mkdir -p mix sys/none sys/file sys/dir sys/both && printf 'schemaVersion: "2"\nkind: mixin\nname: mix\n' >mix/spec.yaml
openssl req -x509 -newkey rsa:2048 -nodes -keyout tls.key -out tls.crt -days 2 -subj /CN=trust -addext subjectAltName=IP:127.0.0.1 2>/dev/null
hash=$(openssl x509 -hash -noout -in tls.crt).0
cp tls.crt sys/file/ca-certificates.crt
cp tls.crt "sys/dir/$hash"
cp tls.crt sys/both/ca-certificates.crt
cp tls.crt "sys/both/$hash"
registry tls "  tls: { certificate: $work/tls.crt, key: $work/tls.key }"

with() { # SYS STATUS TEXT: a push by a system that trusts so
    out=$(unshare -m --propagation private sh -c 'mount --bind "$0" /etc/ssl/certs && exec "$@"' "$work/sys/$1" \
        "$SBX_BIN" --no-input kit push mix "$host/kits/mix:1" 2>&1)
    is "$1${SSL_CERT_FILE:+ file}${SSL_CERT_DIR:+ dir}: status" "$?" "$2"
    [[ $out == *"$3"* ]] || { echo "FAILED: $1: [$out] has no [$3]"; fail=1; }
}
with none 1 "/etc/docker/certs.d/$host/ca.crt"
with file 0 Pushed
with dir 0 Pushed
with both 0 Pushed
SSL_CERT_FILE=$work/tls.crt with none 0 Pushed
SSL_CERT_DIR=$work/sys/dir with none 0 Pushed
SSL_CERT_DIR=$work/sys/none with file 0 Pushed
# a file that is named and holds no authority is an error, whatever the directory has
SSL_CERT_FILE=$work/tls.key with dir 1 "$host"
finish
