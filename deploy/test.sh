#!/bin/sh
# test.sh: all tests of the project: lint, the whole suite, and the suite under the race detector.
# The race detector slows evaluation on real text many times, so that is left to the first run.
# The plain run comes first because it also compiles the PDF reader into the cache of the tests, which
# takes minutes under the race detector.
set -eu
GO=${GO:-go}

sh deploy/lint.sh
$GO test -timeout 8m ./...
CONCORDAT_CORPORA='' $GO test -race -short -timeout 8m ./...
