#!/bin/sh
# test.sh: all tests of the project: lint, the whole suite, and under the race detector the packages that
# start goroutines, with less of what is slow there (-short): it slows evaluation on real text many times.
# The plain run comes first because it also compiles the PDF reader into the cache of the tests, which
# takes minutes under the race detector.
set -eu
GO=${GO:-go}

sh deploy/lint.sh
$GO test -timeout 8m ./...
racing=$(git grep -lE '(^|[^[:alnum:]_])go func|\.Go\(|^[[:space:]]*go [[:alnum:]_.]+\(' -- '*.go' ':!internal' ':!*/gen/*' | xargs -n 1 dirname | sed 's|^|./|' | sort -u)
CONCORDAT_CORPORA='' $GO test -race -short -timeout 8m $racing
