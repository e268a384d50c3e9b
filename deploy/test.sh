#!/bin/sh
# test.sh [race]: lint, the whole suite, and under the race detector what most works side by side, with less of
# what is slow there (-short): the detector slows evaluation on real text many times. With "race" the detector
# alone, on all packages.
# The plain run comes first because it also compiles the PDF reader into the cache of the tests, which
# takes minutes under the race detector.
set -eu
GO=${GO:-go}

if [ "${1:-}" = race ]; then
	CONCORDAT_CORPORA='' $GO test -race -short -timeout 20m ./...
	exit
fi
sh deploy/lint.sh
$GO test -timeout 8m ./...
CONCORDAT_CORPORA='' $GO test -race -short -timeout 8m ./site ./index ./cluster ./federation ./cluster/zk ./webhook ./cluster/local ./client # the longest first
