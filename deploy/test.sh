#!/bin/sh
# test.sh: all tests of the project: lint, the whole suite under the race detector, and the demo.
# The race detector slows evaluation on real text many times, so those packages run without it too.
set -eu
GO=${GO:-go}

sh deploy/lint.sh
$GO test -race -short -timeout 8m ./...
$GO test -timeout 8m ./...
