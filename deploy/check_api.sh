#!/bin/sh
# Holds the API to what tools that nobody here wrote make of its description: openapi-spec-validator reads it, Schemathesis asks a
# site that is served for it with documents in it, and openapi-python-client makes a client of it that hands in a document, waits
# and reads the evidence. Needs python3 with venv, and a package index. EXAMPLES is how many requests of each operation are drawn.
set -eu
bin=$(realpath "${1:-bin/concordat}")
here=$(realpath "$(dirname "$0")/..")
work=$(mktemp -d)
site=
trap 'test -z "$site" || kill "$site"; rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q schemathesis==4.32.5 openapi-spec-validator==0.9.0 openapi-python-client==0.29.1
export PATH="$work/venv/bin:$PATH"

openapi-spec-validator "$here/doc/openapi.json"

export CONCORDAT_DATA="$work/site" CONCORDAT_SERVE_API_CALLS=1000000 CONCORDAT_SERVE_LISTEN=127.0.0.1:18439
base=http://127.0.0.1:18439
"$bin" init --site checked >/dev/null
"$bin" library create calls --title "Calls" >/dev/null
"$bin" add --library calls "$here/demo/library/calls" >/dev/null
"$bin" serve >"$work/serve.log" 2>&1 &
site=$!
for _ in $(seq 100); do grep -q 'first?key=' "$work/serve.log" && break; sleep 0.2; done
key=$(grep -o 'first?key=[A-Z2-7]*' "$work/serve.log" | cut -d= -f2)
words="a pass phrase of some length"
curl -sf -o /dev/null -c "$work/jar" --data-urlencode "key=$key" -d name=ada --data-urlencode "password=$words" \
  --data-urlencode "again=$words" "$base/first"
token=$(curl -sf -b "$work/jar" -d "action=add&name=check&scope=read&scope=check&scope=review&scope=documents&scope=people&scope=hooks" \
  "$base/account/tokens" | grep -o 'concordat_[A-Z2-7]*' | head -n 1)
curl -sf -o /dev/null -H "Authorization: Bearer $token" -F "file=@$here/demo/submission/shared-evidence-commons.docx" "$base/api/v1/checks"

openapi-python-client generate --path "$here/doc/openapi.json" --output-path "$work/made" --meta none --overwrite >"$work/made.log" 2>&1
PYTHONPATH="$work" python3 "$here/deploy/check_api.py" "$base" "$token" "$here/demo/submission/shared-evidence-commons.docx"

# Streams do not end, and one machine has no cluster. The token has no scope for deletions and tokens, which would take away
# what the rest asks with. 412 and 428 are what a change without the state it was made on is answered with.
cat >"$work/schemathesis.toml" <<'T'
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "3xx", "401", "403", "404", "409", "412", "429", "5xx"]
[checks.missing_required_header]
expected-statuses = ["400", "401", "403", "404", "406", "422", "428"]
T
cd "$work"
schemathesis --config-file schemathesis.toml run "$base/api/v1/openapi.json" -H "Authorization: Bearer $token" --no-color \
  --max-examples "${EXAMPLES:-20}" --request-timeout 30 --exclude-path-regex '/events$|/cluster/'
