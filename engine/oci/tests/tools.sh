#!/bin/bash
# Kits and images read and written by other people's tools: skopeo, umoci, tar and jq; oras, crane and docker where they are.
# shellcheck source=engine/oci/tests/registry.sh disable=SC2034
. "${SBX_SOURCE_DIR:?}/engine/oci/tests/registry.sh"
here=$SBX_SOURCE_DIR/engine/oci/tests
has() { command -v "$1" >/dev/null || { echo "not compared with $1: it is not installed"; return 1; }; }

mkdir -p mix/files/home/bin mix/files/workspace/docs ws
printf 'schemaVersion: "2"\nkind: mixin\nname: tools\nversion: "1.2"\nenvironment: { variables: { TOOLS: "yes" } }\n' >mix/spec.yaml
printf '#!/bin/sh\necho hi\n' >mix/files/home/bin/hi
chmod 755 mix/files/home/bin/hi
printf 'text' >mix/files/workspace/docs/read.me
head -c 300000 /dev/urandom >mix/files/home/random
mkdir one && cp mix/spec.yaml one
mkdir -p many/files/home && cp mix/spec.yaml many
for ((i = 0; i < 5000; i++)); do echo "file $i" >"many/files/home/f$((i % 70)).$i"; done

deletes=true registry plain
plain=$host
kit=$plain/team/tools

# --- push → pull → push gives one digest, whatever the user's settings; what is there is not sent again
push() { "$SBX_BIN" kit push "$1" "$2" 2>>errors | sed 's/.*@//'; }
for k in one mix many; do
    want=$(push $k "$plain/$k/kit:1")
    rm -rf "$XDG_CACHE_HOME" "back-$k"
    t 0 Pulled kit pull "$plain/$k/kit@$want" "back-$k"
    diff -r $k "back-$k" >/dev/null || { echo "FAILED: $k comes back changed"; fail=1; }
    is "$k, pulled and pushed again" "$(push "back-$k" "$plain/$k/kit:2")" "$want"
    t 0 "@$want" kit pack $k -o $k.tar -t 1
    [ $k != many ] || continue
    is "$k under a umask" "$(umask 077 && rm -rf again && cp -r "back-$k" again && push again "$plain/$k/kit:3")" "$want"
    is "$k in another zone and locale" "$(export TZ=Pacific/Apia LC_ALL=C.UTF-8 LANG=tr_TR.UTF-8; push $k oci-layout:lay:$k)" "$want"
    find again -exec touch -h -d 2001-02-03 {} +
    is "$k with other times" "$(push again oci-layout:lay:$k)" "$want"
    if faketime 2031-01-01 "$SBX_BIN" version >/dev/null 2>&1; then # it is installed, and no sanitizer minds it
        is "$k on another day" "$(faketime '2031-01-01' "$SBX_BIN" kit push $k oci-layout:lay:$k | sed 's/.*@//')" "$want"
    fi
done
is "nothing was said" "$(cat errors)" ""
digest=$(push mix "$kit:1")
ref=$kit@$digest
find plain -path '*_uploads*' -type f | grep . && { echo "FAILED: an upload was left open"; fail=1; }

# --- an artifact that is there already is pushed on as it is: from a layout, from a registry
t 0 "Pushed oci://$plain/again/tools@$digest" kit push oci-layout:lay:mix "$plain/again/tools:1"
t 0 "Pushed oci://$plain/again/tools@$digest" kit push "$ref" "$plain/again/tools:2"
t 0 "Pushed oci-layout:lay2@$digest" kit push "oci://$kit:1" oci-layout:lay2:1
t 0 "Pushed oci-layout:lay3@$digest" kit push oci-layout:lay2@$digest oci-layout:lay3:1
is "all of it" "$(cd lay3 && find . -type f | sort | xargs sha256sum)" "$(cd lay2 && find . -type f | sort | xargs sha256sum)"
registry second
t 0 "Pushed oci://$host/team/tools@$digest" kit push "$ref" "$host/team/tools:1"
t 0 Pulled kit pull "$host/team/tools@$digest" fromsecond
t 1 "no tag 9" kit push oci-layout:lay:9 "$host/team/tools:1"
t 1 "No such file" kit push oci-layout:none:1 "$host/team/tools:1"
t 1 "404" kit push "$plain/no/kit:1" "$host/team/tools:1"

# --- skopeo reads and writes: registry, layout, archive, and the cache itself
skopeo copy -q --src-tls-verify=false "docker://$kit:1" oci:skopeo:1 || fail=1
t 0 "@$digest" kit resolve oci-layout:skopeo:1
skopeo copy -q --dest-tls-verify=false oci:lay:mix "docker://$plain/by/layout:1" || fail=1
skopeo copy -q --dest-tls-verify=false oci-archive:mix.tar:1 "docker://$plain/by/archive:1" || fail=1
for from in layout archive; do t 0 "$plain/by/$from@$digest" kit resolve "$plain/by/$from:1"; done
rm -rf "$XDG_CACHE_HOME"
t 0 '"TOOLS"' plan shell ws --kit "$ref" --output json
is "skopeo reads the cache" "$(skopeo inspect --raw "oci:$XDG_CACHE_HOME/sbx:$ref" | sha256sum | cut -d' ' -f1)" "${digest#sha256:}"
t 0 Freed cache prune --all
is "the index names nothing that is gone" "$(jq '.manifests | length' "$XDG_CACHE_HOME/sbx/index.json")" 0
t 0 '"TOOLS"' plan shell ws --kit "$ref" --output json

# --- made by hand, with tar and gzip of this machine
mkdir -p hand/home/agent hand/workspace && cp -r mix/files/home/. hand/home/agent && cp -r mix/files/workspace/. hand/workspace
(cd hand && tar -cf - home/agent/* workspace/*) | gzip -9 >layer.tar.gz
if has umoci; then
    is "umoci reads a cache without a name" "$(XDG_CACHE_HOME=$work/fresh "$SBX_BIN" kit push mix oci-layout:other:1 >/dev/null 2>&1; umoci ls --layout fresh/sbx 2>&1; echo $?)" 0
    is "umoci lists our layout" "$(umoci ls --layout lay | sort | tr '\n' ' ')" "mix one "
fi
if has oras; then
    o=--plain-http
    type=application/vnd.docker.sandbox.kit.v2
    is "oras manifest fetch" "$(oras manifest fetch $o "$kit:1" | sha256sum | cut -d' ' -f1)" "${digest#sha256:}"
    is "oras manifest fetch-config" "$(oras manifest fetch-config $o "$kit:1" | sha256sum)" "$(sha256sum <mix/spec.yaml)"
    is "oras repo tags" "$(oras repo tags $o "$kit")" 1
    layer=$(oras manifest fetch $o "$kit:1" | jq -r '.layers[0].digest')
    is "oras blob fetch" "$(oras blob fetch $o -o - "$kit@$layer" | tar -tz | sort | head -1)" home/agent/bin/hi
    oras cp --from-plain-http "$kit:1" --to-oci-layout oraslay:1 >/dev/null || fail=1
    t 0 "@$digest" kit resolve oci-layout:oraslay:1
    oras cp --from-oci-layout lay:mix --to-plain-http "$plain/by/oras:1" >/dev/null || fail=1
    t 0 "$plain/by/oras@$digest" kit resolve "$plain/by/oras:1"
    is "oras lists the cache" "$(oras repo tags --oci-layout "$XDG_CACHE_HOME/sbx" | grep -cxF "${ref#oci://}")" 1
    is "oras reads the cache" "$(oras manifest fetch --oci-layout "$XDG_CACHE_HOME/sbx@$digest" | sha256sum | cut -d' ' -f1)" "${digest#sha256:}"
    # an artifact of oras's own making, with its annotations
    oras push $o --artifact-type $type --config "mix/spec.yaml:$type.spec+yaml" "$plain/hand/kit:1" \
        layer.tar.gz:application/vnd.oci.image.layer.v1.tar+gzip >/dev/null || fail=1
    hand=$("$SBX_BIN" kit resolve "$plain/hand/kit:1")
    t 0 Pulled kit pull "$hand" fromoras
    diff -r mix fromoras || { echo "FAILED: an artifact of oras is another kit here"; fail=1; }
    is "what oras pulls is what we pull" "$(oras pull $o -o oraspull "$plain/hand/kit:1" >/dev/null && cmp oraspull/layer.tar.gz layer.tar.gz && echo same)" same
    # two referrers, which this registry knows only by the tag scheme
    for what in provenance signature; do
        echo $what >$what
        oras attach $o --artifact-type application/vnd.example.$what "$kit:1" $what:text/plain >/dev/null || fail=1
    done
    is "oras discover" "$(oras discover $o --format json "$kit:1" | jq -r '[.. | .artifactType? // empty] | sort | join(" ")')" \
        "application/vnd.example.provenance application/vnd.example.signature"
    t 0 Attached kit attach "$kit:1" signature --type application/vnd.example.ours
    is "oras discovers ours too" "$(oras discover $o --format json "$kit:1" | jq -r '[.. | .artifactType? // empty] | length')" 3
    is "and we theirs" "$("$SBX_BIN" kit inspect "$kit:1" --referrers --json | jq '.referrers | length')" 3
    t 0 "@$digest" kit resolve "$kit:1"
    t 0 "tools" kit inspect "$kit:1"
fi
if has crane; then
    is "crane digest" "$(crane digest --insecure "$kit:1")" "$digest"
    crane copy --insecure "$kit:1" "$plain/by/crane:1" 2>/dev/null || fail=1
    t 0 "$plain/by/crane@$digest" kit resolve "$plain/by/crane:1"
fi

# --- the images of the cache are read by skopeo and umoci
python3 "$here/image.py" image >/dev/null
skopeo copy -q oci:image:1 docker-archive:image.tar:example.com/base:1 || fail=1
t 0 "example.com/base:1" template load --runtime oci image.tar
t 0 "image   example.com/base:1   " cache ls
is "an image has its blobs" "$("$SBX_BIN" cache ls --json --filter kind=image | jq '.entries[0].files | length')" \
    "$(($(skopeo inspect --raw "oci:$XDG_CACHE_HOME/sbx:example.com/base:1" | jq '.layers | length') + 2))"
is "nothing of it stands alone" "$("$SBX_BIN" cache ls -q --filter kind=blob)" ""
is "skopeo reads it" "$(skopeo copy -q "oci:$XDG_CACHE_HOME/sbx:example.com/base:1" oci:copied:1 && echo yes)" yes
if has umoci; then
    is "umoci unpacks it" "$(umoci unpack --rootless --image "$XDG_CACHE_HOME/sbx:example.com/base:1" bundle 2>&1; ls bundle/rootfs)" "etc-$(dpkg --print-architecture)"
    is "umoci lists the same names" "$(umoci ls --layout "$XDG_CACHE_HOME/sbx" | grep -cxF -e example.com/base:1 -e "${ref#oci://}")" 2
fi
t 0 "Removed image example.com/base:1 " cache prune --all

# --- an image with Docker's types, as many registries have it: the layout has OCI's beside them
skopeo copy -q --format v2s2 --dest-tls-verify=false oci:image:1 "docker://$plain/docker/base:1" || fail=1
"$(dirname "$SBX_BIN")/pull_image" "$XDG_STATE_HOME/sbx" "$XDG_CACHE_HOME/sbx" "$plain/docker/base:1" || fail=1
is "it is one image, with its registry's digest" "$("$SBX_BIN" cache ls -q --no-trunc)" \
    "sha256:$(skopeo inspect --raw --tls-verify=false "docker://$plain/docker/base:1" | sha256sum | cut -d' ' -f1)"
is "skopeo knows it" "$(skopeo inspect "oci:$XDG_CACHE_HOME/sbx:$plain/docker/base:1" | jq -r .Os)" linux
if has umoci; then
    is "umoci unpacks it, too" "$(umoci unpack --rootless --image "$XDG_CACHE_HOME/sbx:$plain/docker/base:1" second 2>&1; ls second/rootfs)" "etc-$(dpkg --print-architecture)"
fi
finish
