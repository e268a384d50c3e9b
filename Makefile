# make demo and make test do all set-up on a fresh machine; see README.md.

GO ?= go
# What is built to be run holds no symbols for debuggers: a fifth of its size. Traces of a fault need none.
STRIP := -ldflags='-s -w'
BIN := bin/concordat
LAB := bin/concordat-lab

.PHONY: build lab demo test test-times rest race lint mutants attack screenshots pictures check-deploy check-api check-pages bench eval long faults kills damage package clean FORCE

build: $(BIN)

$(BIN): FORCE
	$(GO) build $(STRIP) -o $(BIN) ./cmd/concordat

# lab: the program that measures, which is not installed: a module of its own.
lab: $(LAB)

$(LAB): FORCE
	$(GO) -C lab build $(STRIP) -o $(abspath $(LAB)) .

FORCE:

demo:
	sh deploy/setup.sh build
	$(MAKE) --no-print-directory build
	$(GO) build $(STRIP) -o bin/demo-repository ./cmd/demo-repository
	sh demo/run.sh $(BIN) bin/demo-repository

test:
	sh deploy/setup.sh test
	sh deploy/test.sh

# rest: the tests that make test leaves out, and what most works side by side under the race detector; see doc/develop.md.
rest:
	sh deploy/setup.sh test
	sh deploy/test.sh rest

# test-times: processor time of the tests of each package, as make test runs them and with -short; TIMED="index site/..." takes these.
test-times:
	$(GO) -C lab build -o $(abspath bin/times) ./times
	bin/times $(TIMED)

# race: all packages under the race detector, a quarter of an hour; make rest runs those that most work side by side.
race:
	sh deploy/setup.sh test
	sh deploy/test.sh race

# long: every fuzz target for ten minutes (FUZZTIME changes that), and the whole evaluation.
long:
	sh deploy/setup.sh test
	sh deploy/long.sh

# faults: ROUNDS more rounds of faults on nodes and ROUNDS on served sites, real processes in network namespaces, as root or where
# users may make namespaces (sites need root). Results and histories add up in FAULTS; a call that was cut short loses the life it
# was in, 12 rounds at most. With PREVIOUS, a commit or a program, a site is then upgraded from it node by node.
ROUNDS ?= 60
FAULTS ?= $(CURDIR)/build/faults
faults:
	sh deploy/setup.sh test
	CONCORDAT_FAULTS=$(ROUNDS) CONCORDAT_FAULTS_DIR=$(FAULTS) CONCORDAT_FAULTS_PREVIOUS=$(PREVIOUS) CONCORDAT_TESTS=rest \
		$(GO) test ./internal/faults -run 'TestFaults$$|TestServed$$|TestUpgrade$$|TestMisuse' -timeout 0 -v

# kills: a site is killed in the midst of its work KILLS times; then no byte of what is deleted may be left in its folder.
KILLS ?= 100
kills:
	CONCORDAT_KILLS=$(KILLS) $(GO) test ./cmd/concordat/program -run 'TestNothingStays|TestUnpack' -count 1 -timeout 0 -v

# damage: DAMAGES times a bit of a file of a killed site is flipped, or the file is cut or removed, and the site is opened: results by
# kind of file. KIND=site.db takes that kind alone.
DAMAGES ?= 300
damage:
	CONCORDAT_DAMAGES="$(DAMAGES) $(KIND)" $(GO) test ./instance -run TestDamageIsTold -count 1 -timeout 0 -v

# bench: every figure of speed, with ratios; STEPS="query join" takes these steps only; see deploy/bench.sh.
bench: build lab
	sh deploy/bench.sh $(STEPS)

# eval: every figure of doc/evaluation/*.md, quality and speed; see deploy/eval.sh.
eval: build lab
	sh deploy/eval.sh

# package: a Debian package in dist/, installed and run in an empty root; see deploy/package.sh.
package:
	sh deploy/package.sh

# mutants: changes of the code that no quick test notices, N of each package, drawn by SEED; see lab/mutants. Hours for
# all: PACKAGES="crypto segment" N=20 takes minutes. FLAGS=-json prints JSON lines.
PACKAGES ?= crypto federation segment report site web
N ?= 40
SEED ?= 1
mutants:
	$(GO) -C lab build -o $(abspath bin/mutants) ./mutants
	bin/mutants -n $(N) -seed $(SEED) $(FLAGS) $(PACKAGES)

# attack: what strangers, members with few rights, hostile files and crashes may do to a site, against one that is made for
# it, for DURATION; FLAGS="-site https://... -token-file FILE" attacks another, with what does it no harm. See lab/attack.
DURATION ?= 10m
attack: build
	$(GO) -C lab build -o $(abspath bin/attack) ./attack
	bin/attack -bin $(BIN) -for $(DURATION) $(FLAGS)

# check-api: the validator of OpenAPI, Schemathesis and a generated client of another language hold a served site to doc/openapi.json.
check-api: build
	sh deploy/api/check.sh $(BIN)

# check-pages: the Nu HTML checker on every page and state, and Lighthouse on the pages that people see most; ONLY=html or
# ONLY=lighthouse takes one of them.
check-pages:
	sh deploy/pages/check.sh $(ONLY)

# screenshots: every page in every language, light and dark, 1360 and 390 pixels wide, into SHOTS; a browser has to be there.
SHOTS ?= build/screenshots
screenshots:
	mkdir -p $(SHOTS)
	CONCORDAT_SHOTS=$(abspath $(SHOTS)) $(GO) test -vet=off -count=1 -timeout 30m -run TestAccessible ./web

# pictures: the report and the lead that the documents show, into doc/pictures; a browser has to be there.
pictures:
	CONCORDAT_PICTURES=$(abspath doc/pictures) $(GO) test -vet=off -count=1 -run 'TestLead$$|TestCheckFindsPassages$$' ./demo

lint:
	sh deploy/lint.sh

# check-deploy: what deploy/ holds, read by Prometheus's, BuildKit's, Compose's and Helm's own code, a module of its own.
check-deploy:
	$(GO) -C deploy/check run . ..

clean:
	rm -rf bin demo/site
