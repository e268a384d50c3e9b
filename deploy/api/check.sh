#!/bin/sh
# check.sh BIN: three programs that nobody here wrote hold a served site to doc/openapi.json; see check.py. Their versions are
# those of requirements.txt, kept in the cache of the user. EXAMPLES is the number of random calls of each operation, 25 if unset; SEED
# repeats a run. It needs python3 with venv.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tools=${XDG_CACHE_HOME:-$HOME/.cache}/concordat/api-tools
if ! cmp -s "$here/requirements.txt" "$tools/requirements.txt"; then
	rm -rf "$tools"
	python3 -m venv "$tools"
	"$tools/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
	cp "$here/requirements.txt" "$tools/requirements.txt"
fi
PATH=$(cd "$tools" && pwd)/bin:$PATH exec python "$here/check.py" "$1"
