#!/bin/sh
# lint.sh: gofmt, go vet and staticcheck; of the product and of the lab; any finding fails.
set -eu
GO=${GO:-go}

unformatted=$(git ls-files '*.go' | xargs gofmt -l)
if [ -n "$unformatted" ]; then
	echo "gofmt would change:" >&2
	echo "$unformatted" >&2
	exit 1
fi
for module in . lab; do
	$GO -C $module vet ./...
	$GO -C $module run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...
done
echo "lint: clean"
