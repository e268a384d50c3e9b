# make demo and make test do all set-up on a fresh machine; see README.md.

GO ?= go
BIN := bin/concordat

.PHONY: build demo test lint bench eval long clean

build: $(BIN)

$(BIN): FORCE
	$(GO) build -o $(BIN) ./cmd/concordat

FORCE:

demo:
	sh deploy/setup.sh build
	$(MAKE) --no-print-directory build
	sh demo/run.sh $(BIN)

test:
	sh deploy/setup.sh test
	sh deploy/test.sh

lint:
	sh deploy/lint.sh

clean:
	rm -rf bin demo/site
