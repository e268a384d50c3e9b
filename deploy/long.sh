#!/bin/sh
# long.sh: each fuzz target for FUZZTIME (10m), then the tests with everything they leave out otherwise.
# A crash stops it; its input is kept below the package's testdata/fuzz.
set -eu
GO=${GO:-go}
FUZZTIME=${FUZZTIME:-10m}

git grep -l '^func Fuzz' -- '*_test.go' | while read -r file; do
	module=. package=./$(dirname "$file")
	case $package in ./lab/*) module=lab package=./${package#./lab/} ;; esac
	sed -n 's/^func \(Fuzz[A-Za-z0-9]*\)(.*/\1/p' "$file" | while read -r target; do
		echo "fuzz $package $target for $FUZZTIME"
		$GO -C $module test "$package" -run '^$' -fuzz "^$target\$" -fuzztime "$FUZZTIME" -fuzzminimizetime 10x </dev/null
	done
done
CONCORDAT_TESTS=all CONCORDAT_LONG=1 CONCORDAT_EVAL=all CONCORDAT_SIM=20 $GO test -timeout 0 ./...
CONCORDAT_TESTS=all CONCORDAT_LONG=1 CONCORDAT_EVAL=all $GO -C lab test -timeout 0 ./...
# What deploy/ holds, by the parsers and linters of the programs that it is for.
$GO -C deploy/check run . ..
