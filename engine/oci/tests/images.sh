#!/bin/bash
# Kits that stand on an image: pinned, anchored, deleted; log-ins of every kind; TLS.
# shellcheck source=engine/oci/tests/registry.sh disable=SC2034
. "${SBX_SOURCE_DIR:?}/engine/oci/tests/registry.sh"
here=$SBX_SOURCE_DIR/engine/oci/tests

index=$(python3 "$here/image.py" image)
deletes=true registry open
open=$host
skopeo copy -q --all --dest-tls-verify=false oci:image:1 "docker://$open/images/base:1" || fail=1

agent() { # DIRECTORY IMAGE
    mkdir -p "$1"
    cat >"$1/spec.yaml" <<KIT
schemaVersion: "2"
kind: sandbox
name: agent
# what it stands on
sandbox:
  image: $2   # the base
  build:
    context: .

    # of the image
    dockerfile: Dockerfile
  # how it starts
  entrypoint: [sh]
environment:
  variables: { A: "1" }
KIT
}
agent plain "$open/images/base:1"
cp plain/spec.yaml before
t 0 "Pushed oci://$open/kits/agent@" kit push plain "$open/kits/agent:1.0"
digest=${out##*@}
cmp before plain/spec.yaml || { echo "FAILED: the source was changed"; fail=1; }
is "the anchor is the image's index" \
    "$(skopeo inspect --raw --tls-verify=false "docker://$open/kits/agent:_kit_1.0" | sha256sum | cut -d' ' -f1)" "${index#sha256:}"
is "with all platforms" "$(skopeo copy -q --all --src-tls-verify=false "docker://$open/kits/agent:_kit_1.0" oci:copied:1 && echo yes)" yes
t 0 Pulled kit pull "oci://$open/kits/agent@$digest" pulled
is "the spec is the same but for the image and the build" "$(diff plain/spec.yaml pulled/spec.yaml)" \
    "$(printf '%s\n' '6,11c6' "<   image: $open/images/base:1   # the base" '<   build:' '<     context: .' '< ' '<     # of the image' '<     dockerfile: Dockerfile' '---' ">   image: $open/images/base@$index   # the base")"
t 0 "@$digest" kit push pulled "$open/kits/agent:2.0"
for quote in "'" '"'; do
    agent quoted "$quote$open/images/base:1$quote"
    t 0 Pushed kit push quoted "$open/kits/quoted:1"
    t 0 "$open/images/base@$index" kit inspect "$open/kits/quoted:1"
done
agent missing "$open/images/none:1"
t 1 "docker push $open/images/none:1" kit push missing "$open/kits/missing:1"
agent byarg "$open/images/base:\${{ kit.args.v }}"
printf 'args: { v: { default: "1" } }\n' >>byarg/spec.yaml
t 1 "cannot be pinned" kit push byarg "$open/kits/byarg:1"
t 1 "404" kit resolve "$open/kits/byarg:1"

# --- another registry: a note, or a copy
registry second
t 0 "is in another registry" kit push plain "$host/kits/agent:1.0"
is "no anchor without --anchor=copy" "$(skopeo inspect --raw --tls-verify=false "docker://$host/kits/agent:_kit_1.0" 2>/dev/null)" ""
t 0 "@$digest" kit push --anchor=copy plain "$host/kits/agent:1.0"
is "a copied anchor" \
    "$(skopeo inspect --raw --tls-verify=false "docker://$host/kits/agent:_kit_1.0" | sha256sum | cut -d' ' -f1)" "${index#sha256:}"
t 1 "does not let anybody delete" kit delete "$host/kits/agent:1.0"

# --- delete: other tags of the digest go too, and are told first
t 1 "1 other tag of the same kit (2.0)" kit delete "$open/kits/agent:1.0"
t 0 "$digest" kit resolve "$open/kits/agent:1.0"
t 0 "Deleted tag 2.0" kit delete "$open/kits/agent:1.0" --force
t 1 "404" kit resolve "$open/kits/agent:1.0"
t 1 "404" kit delete "$open/kits/agent:1.0"
t 0 "$index" kit resolve "$open/images/base:1"

# --- log-ins: none, auths, credHelpers; wrong
htpasswd -Bbc htpasswd hugo s3cret 2>/dev/null
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout tls.key -out tls.crt -days 2 \
    -subj /CN=test -addext "subjectAltName=IP:127.0.0.1" 2>/dev/null
registry locked "  tls: { certificate: $work/tls.crt, key: $work/tls.key }
auth: { htpasswd: { realm: test, path: $work/htpasswd } }"
mkdir -p mix && printf 'schemaVersion: "2"\nkind: mixin\nname: mix\n' >mix/spec.yaml
t 1 "put it into /etc/docker/certs.d/$host/ca.crt" kit push mix "$host/kits/mix:1"
mkdir -p "$XDG_CONFIG_HOME/docker/certs.d/$host"
cp tls.crt "$XDG_CONFIG_HOME/docker/certs.d/$host/ca.crt"
t 3 "no credentials for $host; run docker login $host" kit push mix "$host/kits/mix:1"
login() { printf '{"auths":{"%s":{"auth":"%s"}}}' "$host" "$(printf '%s' "$1" | base64)" >"$DOCKER_CONFIG/config.json"; }
login hugo:wrong
t 3 "answers 401" kit push mix "$host/kits/mix:1"
login hugo:s3cret
t 0 Pushed kit push mix "$host/kits/mix:1"
ref=${out##* }
t 0 Pulled kit pull "$ref" withauths
mkdir bin
printf '#!/bin/sh\nread -r host\n[ "$1 $host" = "get %s" ] && echo "{\\"Username\\":\\"hugo\\",\\"Secret\\":\\"s3cret\\"}"\n' "$host" >bin/docker-credential-test
chmod +x bin/docker-credential-test
printf '{"credHelpers":{"%s":"test"}}' "$host" >"$DOCKER_CONFIG/config.json"
rm -rf "$XDG_CACHE_HOME"
PATH=$work/bin:$PATH t 0 Pulled kit pull "$ref" withhelper
rm -rf "$XDG_CACHE_HOME"
printf '{"credHelpers":{"%s":"gone"}}' "$host" >"$DOCKER_CONFIG/config.json"
t 3 "docker-credential-gone: no such program" kit pull "$ref" no
is "no secret is in the cache" "$(grep -rl s3cret "$XDG_CACHE_HOME" "$XDG_STATE_HOME" 2>/dev/null)" ""
finish
