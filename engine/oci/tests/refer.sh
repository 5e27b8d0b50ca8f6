#!/bin/bash
# What lies beside a kit: tags, referrers; and where it may come from: mirrors, registries without TLS.
# shellcheck source=engine/oci/tests/registry.sh disable=SC2034
. "${SBX_SOURCE_DIR:?}/engine/oci/tests/registry.sh"

mkdir -p mix/files/home && printf 'schemaVersion: "2"\nkind: mixin\nname: mix\n' >mix/spec.yaml
echo hello >mix/files/home/x
echo '{"sbom":1}' >sbom.json
registry plain
plain=$host

# --- a registry without the referrers API: the list lies under a tag
t 0 Pushed kit push mix "$plain/team/mix:1.0"
ref=${out##* } digest=${out##*@}
t 0 "TYPE" kit inspect "$plain/team/mix:1.0" --referrers
t 0 "Attached oci://$plain/team/mix@sha256:" kit attach "$plain/team/mix:1.0" sbom.json --type application/vnd.example.sbom
first=${out##*@}
t 0 "$first" kit attach "$ref" sbom.json --type application/vnd.example.sbom # again: the same, once
t 0 "Attached" kit attach "$ref" sbom.json --type application/vnd.example.note --media-type application/json
second=${out##*@}
"$SBX_BIN" kit inspect "$ref" --referrers --json >list
is "both are listed, once" "$(jq -r '.referrers | map(.digest) | join(" ")' list)" "$first $second"
is "of the kit" "$(jq -r .digest list)" "$digest"
is "with their types" "$(jq -r '.referrers | map(.artifactType) | join(" ")' list)" "application/vnd.example.sbom application/vnd.example.note"
is "the kit is the same" "$("$SBX_BIN" kit resolve "$plain/team/mix:1.0")" "$ref"
manifest=$(skopeo inspect --raw --tls-verify=false "docker://$plain/team/mix@$first")
is "its subject" "$(jq -r .subject.digest <<<"$manifest")" "$digest"
is "its file" "$(curl -s "http://$plain/v2/team/mix/blobs/$(jq -r '.layers[0].digest' <<<"$manifest")")" '{"sbom":1}'
is "under the tag of the specification" "$(curl -s "http://$plain/v2/team/mix/manifests/${digest/:/-}" -H 'Accept: application/vnd.oci.image.index.v1+json' | jq '.manifests | length')" 2
t 0 Pushed kit push mix "$plain/team/mix:2.0"
is "tags" "$("$SBX_BIN" kit inspect "$plain/team/mix" --tags | sort | paste -sd' ')" "1.0 2.0"
t 2 "not a media type" kit attach "$ref" sbom.json --type sbom
t 2 "Add --type" kit attach "$ref" sbom.json
t 1 "No such file" kit attach "$ref" nothing --type a/b
t 1 "404" kit attach "$plain/team/mix:none" sbom.json --type a/b

# --- a layout
t 0 Pushed kit push mix oci-layout:lay:1.0
t 0 Attached kit attach oci-layout:lay:1.0 sbom.json --type application/vnd.example.sbom
t 0 "$first" kit attach oci-layout:lay:1.0 sbom.json --type application/vnd.example.sbom
is "listed once" "$("$SBX_BIN" kit inspect oci-layout:lay:1.0 --referrers --json | jq -r '.referrers | map(.digest) | join(" ")')" "$first"
skopeo copy -q --dest-tls-verify=false oci:lay:1.0 "docker://$plain/by/skopeo:1.0" || fail=1

# --- mirrors: asked first, with their own prefix; what they lack comes from the registry
registry mirror
mirror=$host mirror_pid=$pid
skopeo copy -q --src-tls-verify=false --dest-tls-verify=false "docker://$plain/team/mix:1.0" "docker://$mirror/hub/team/mix:1.0" || fail=1
mkdir -p "$XDG_CONFIG_HOME/sbx"
settings() { printf 'registries:\n  %s:\n    mirrors: [%s]\n' "$1" "$2" >"$XDG_CONFIG_HOME/sbx/settings.yaml"; }
settings 127.0.0.1:1 "\"http://$mirror/hub\""
t 0 "oci://127.0.0.1:1/team/mix@$digest" kit resolve 127.0.0.1:1/team/mix:1.0
t 0 Pulled kit pull "oci://127.0.0.1:1/team/mix@$digest" frommirror # the registry itself does not answer
diff -r mix frommirror || fail=1
mkdir -p ws
rm -rf "$XDG_CACHE_HOME"
t 0 '"files"' plan shell ws --kit "oci://127.0.0.1:1/team/mix@$digest" --output json
settings "$plain" "\"http://127.0.0.1:1\", \"http://$mirror/elsewhere\""
rm -rf "$XDG_CACHE_HOME"
t 0 Pulled kit pull "$ref" fromplain
t 0 Pushed kit push mix "$plain/team/mix:3.0" # writing asks no mirror
t 1 "404" kit resolve "$mirror/elsewhere/team/mix:3.0"
settings 127.0.0.1:1 "\"http://$mirror/hub\""
kill "$mirror_pid" && wait "$mirror_pid" 2>/dev/null
t 1 "127.0.0.1:1" kit resolve 127.0.0.1:1/team/mix:1.0
settings 127.0.0.1:1 '"mirror.example.com"'
t 1 "not the address of a mirror" kit resolve 127.0.0.1:1/team/mix:1.0
t 0 VALID kit validate ./mix # fetches nothing, needs no settings

# --- a registry that is not loopback and has no TLS: only when told. In a network namespace of its own.
if unshare -rn true 2>/dev/null; then
    cat >far.sh <<'FAR'
ip link set lo up && ip addr add 192.0.2.1/24 dev lo || exit 77
sed "s/addr: .*/addr: 192.0.2.1:5000/" plain.yml >far.yml
docker-registry serve far.yml >far.log 2>&1 &
for ((i = 0; i < 6000; i++)); do (: </dev/tcp/192.0.2.1/5000) 2>/dev/null && break; sleep 0.01; done
rm -rf "$XDG_CACHE_HOME" "$XDG_CONFIG_HOME"
s() { "$SBX_BIN" --no-input "$@" 2>&1; }
s kit resolve 192.0.2.1:5000/team/mix:1.0 | grep -q "wrong version number\|SSL" || echo "resolved without TLS"
s kit resolve --plain-http 192.0.2.1:5000/team/mix:1.0
s kit inspect --plain-http 192.0.2.1:5000/team/mix:1.0 | grep -c "^Name *mix"
s plan shell ws --plain-http --kit "192.0.2.1:5000/team/mix@$1" --output json | grep -q home/agent/x && echo 1
s kit push --plain-http mix 192.0.2.1:5000/far/mix:1 | grep -c Pushed
mkdir -p "$XDG_CONFIG_HOME/sbx"
printf 'registries: { "192.0.2.1:5000": { plainHttp: true } }\n' >"$XDG_CONFIG_HOME/sbx/settings.yaml"
s kit resolve 192.0.2.1:5000/far/mix:1
kill %1
wait
FAR
    is "registries without TLS" "$(unshare -rn bash far.sh "$digest" | paste -sd' ')" \
        "oci://192.0.2.1:5000/team/mix@$digest 1 1 1 oci://192.0.2.1:5000/far/mix@$digest"
fi
finish
