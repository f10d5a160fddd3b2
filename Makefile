# The line before each target says what it does. The modules are those of go.work.
# Programs of other projects are measured there. The module is in no build list, and races in their code are none of ours.
FOREIGN := examples/stores
WORKSPACE := $(shell sed -n 's/^[[:space:]]*\.\///p' go.work)
# The modules outside go.work: those that need versions of other projects that no other module needs.
OUTSIDE := $(FOREIGN) examples/sql
MODULES := $(WORKSPACE) $(OUTSIDE)
# The modules that take longest are tested first, so that at the end no long one runs alone.
LONGEST := adaptertest/bundled adapters/mongo adaptertest/internal/mutants adapters/postgres adapters/sqlite adaptertest adapters/mysql auth adapters/redis
# `make test` runs a fifth of the rounds of races over these; the matrix, or the tests of adapters/memory, run all of them.
FEW_ROUNDS := adapters/mongo adapters/mysql adapters/postgres adapters/redis adapters/sqlite examples
# `make test` leaves out, over the other wirings of an adapter than its first, the groups whose outcome the wiring does not change: a driver,
# a setting or the tables of others change records, values and ended calls; another kind of server changes calls that run at once or fail.
# The matrix of each night runs all groups over all wirings.
any = ^($(subst $() ,|,$(strip $1)))$$
RECORDS := $(call any,ACCT ALIST AUTHN DATA INPUT SESS SLIST TIME USER VTOK)
CALLS := $(call any,AEDIT ALIAS CONC EXP FAULT FLOW ISO LIFE SIGNUP SITE TEDIT VOL)
SKIP_mongo := ^TestConformance$$/^standalone$$/$(call any,ACCT ALIAS ALIST AUTHN DATA EXP FLOW INPUT LIFE SESS SITE SLIST TIME USER VOL VTOK)
SKIP_mysql := ^TestConformance$$/^settings$$/$(CALLS)
SKIP_postgres := ^TestConformance$$/^authjs_tables$$/$(CALLS)
SKIP_redis := ^TestConformance$$/^cluster$$/$(RECORDS)
SKIP_sqlite := ^TestConformance(OfSites)?$$/^(ncruces|Prisma,.*|Drizzle,.*)$$/$(CALLS)
# `make test` tests these modules with the race detector: the core, and the adapter whose records are in the memory of the process. `make race`
# tests the others with it every night; they take several times as long with it.
RACED := auth auth/webauthn adapters/memory
# The race detector leaves out the code of SQLite, which is translated from C, and hashing: they would take most of the time.
export RACE := -race $(addsuffix =-race=false,$(addprefix -gcflags=,modernc.org/sqlite/lib modernc.org/libc/... golang.org/x/crypto/...))
LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
FUZZTIME ?= 10s
BENCHTIME ?= 1s
# With BENCH=1x, `make test` also runs each benchmark once, so that none of them breaks unnoticed.
BENCH ?=
JOBS ?= 2
WITH_STORES := go run ./adaptertest/bundled/cmd/withstores
export GOTOOLCHAIN := local
# setup-node installs Node in this folder if the machine has no Node.
export PATH := $(CURDIR)/.cache/node/node_modules/node/bin:$(PATH)

.DEFAULT_GOAL := test
include images/images.mk

.PHONY: help setup test test-modules check race race-modules portable apidiff release fuzz conformance conformance-all stress mutants mutants-all bench bench-modules bench-large interop interop-tests shims whole screenshots lint demo browser

## help: list the targets
help:
	@sed -n 's/^## //p' Makefile images/images.mk

## test: all tests of all modules, against real stores; fuzz targets run over their committed inputs
test: setup
	@rm -rf .cache/test
	@status=0; $(WITH_STORES) -fast -- $(MAKE) --no-print-directory --output-sync --keep-going --jobs $(JOBS) test-modules || status=$$?; .ci/summary; exit $$status

## setup: install what the tests need and the machine does not have: a container engine, the images of the stores, Chromium, Node, sqlite3
setup: images browser
	@.ci/setup-node || test "$$CI" != true
	@.ci/setup-sqlite || test "$$CI" != true
	@echo "setup: the engine, the images of the stores, Chromium, Node and sqlite3 are installed; what is missing is named above"

# Modules that need a container engine, or that take too long for a quick check.
LEFT_OUT := adaptertest/internal/mutants adaptertest/bundled

## check: the developer's loop: the quick tests of every module, with nothing but Go
check:
	@echo "check: leaves out the tests that need network stores, Chromium or Node, the broken adapters, the matrix, stress, and long tests: make test runs them"
	@GATEHOUSE_SKIP_STORES=1 $(MAKE) --no-print-directory --output-sync --jobs 2 $(addprefix check/,$(filter-out $(LEFT_OUT),$(MODULES)))

check/%:
	@cd $* && { GOWORK=off go test -short -timeout 10m ./... 2>&1 || echo "check: $* fails"; } | awk '!/no test files/; /^check: .* fails$$/ { failed = 1 } END { exit failed }'

# Two modules at once keep two processors busy; three take longer, because calls that race try again while they wait for a processor. The
# tests of the repository read files that the cache of test results does not watch, so they run without the cache. `make lint` vets, so
# `go test` does not. Tests are short, so that collecting garbage less often takes less time and not too much memory.
test-modules: $(addprefix test/,$(LONGEST)) $(addprefix test/,$(filter-out $(LONGEST),$(MODULES)))

test/%:
	@TZ=Asia/Kathmandu GOGC=400 $(if $(filter $*,$(FEW_ROUNDS)),ADAPTERTEST_ROUNDS=0.2) .ci/module $* $(if $(filter $*,$(RACED)),$(RACE)) $(if $(filter $*,$(FOREIGN)),-short) $(if $(filter $*,internal/repocheck),-count=1) $(if $(BENCH),-bench . -benchtime $(BENCH)) $(if $(SKIP_$(notdir $*)),-skip '$(SKIP_$(notdir $*))') -vet=off -timeout 30m ./...

## race: the modules that `make test` tests without the race detector, with it and with few rounds
race: images
	@$(WITH_STORES) -fast -- $(MAKE) --no-print-directory race-modules

race-modules: $(addprefix race/,$(filter-out $(RACED) $(FOREIGN),$(MODULES)))

race/%:
	@echo "== $* with the race detector"; cd $* && GOWORK=off ADAPTERTEST_ROUNDS=0.05 go test $(RACE) -short -timeout 60m ./...

# Every module is vetted for these systems, besides linux/amd64.
SYSTEMS := linux/386 linux/arm windows/amd64 darwin/arm64 freebsd/amd64
# The tests of these modules need no servers; they also run as 32-bit programs.
NARROW := auth adaptertest adapters/memory adapters/sqlite

## portable: vet every module for other systems, and run the tests that need no servers as 32-bit programs
portable:
	@set -e; for s in $(SYSTEMS); do for m in $(MODULES); do \
		echo "== $$s $$m"; (cd $$m && GOWORK=off CGO_ENABLED=0 GOOS=$${s%/*} GOARCH=$${s#*/} go vet ./...); \
	done; done
	@set -e; for m in $(NARROW); do (cd $$m && GOWORK=off CGO_ENABLED=0 GOARCH=386 go test -short ./...); done

## apidiff: compare the exported interfaces with the newest tags
apidiff:
	@.ci/apidiff

## release: make the tags of VERSION, and push nothing; DRY_RUN=1 makes them in a copy and checks them
release:
	@cd internal/release && GOWORK=off go run . -version "$(VERSION)" $(if $(DRY_RUN),-dry-run)

## fuzz: every fuzz target for FUZZTIME (10s), two at once with one worker each
fuzz:
	@for d in $$(grep -rl '^func Fuzz' --include='*_test.go' $(MODULES) | xargs -n1 dirname | sort -u); do \
		grep -ho '^func Fuzz[A-Za-z0-9]*' $$d/*_test.go | sed "s|func|$$d|"; \
	done | xargs -P 2 -n 2 sh -c '$(CURDIR)/.ci/fuzz $$0 $$1 $(FUZZTIME)'

## conformance: the suite over the bundled adapters on their newest servers, and the matrix, in .cache/conformance
conformance:
	@$(MAKE) --no-print-directory images || echo "conformance: continues without containers"
	go run ./adaptertest/bundled/cmd/conformance $(CONFORMANCE)

## conformance-all: the same over all servers and wirings; writes CONFORMANCE.md
conformance-all:
	@$(MAKE) --no-print-directory conformance CONFORMANCE="-all -out ."

TOKENS ?= 10000
ROUNDS ?= 20

## stress: use TOKENS (10000) tokens under faults and kill each server ROUNDS (20) times; prints the numbers
stress: images
	cd adaptertest/bundled && go test -count=1 -timeout 2h -v ./internal/stress -groups -tokens $(TOKENS) -rounds $(ROUNDS)

## mutants: the suite against broken adapters, with score and table; MUTANTS has flags of the command, such as "-only NAME"
mutants:
	go run ./adaptertest/internal/mutants/cmd/mutants $(MUTANTS)

RUNS ?= 5

## mutants-all: takes more than an hour: which faults only one clause notices and how much each harness notices (TABLES.md), races 20 times, and scans of real stores
mutants-all: images
	go run ./adaptertest/internal/mutants/cmd/mutants -tables $(MUTANTS)
	go run ./adaptertest/internal/mutants/cmd/mutants -races 20 $(MUTANTS)
	cd adaptertest/bundled && GOWORK=off go test -count=1 -timeout 1h -v ./internal/growth -runs $(RUNS)

## bench: adapters and core beside the smallest hand-written code for the same work, and other libraries, in the form that benchstat reads
bench: images
	@$(WITH_STORES) -- $(MAKE) --no-print-directory bench-modules

bench-modules:
	@status=0; for d in $$(grep -rl '^func Benchmark' --include='*_test.go' $(MODULES) | xargs -n1 dirname | sort -u); do \
		(cd $$d && GOWORK=off go test -run '^$$' -bench . -benchtime $(BENCHTIME) -timeout 60m .) || status=1; \
	done; exit $$status

USERS ?= 1000000

## bench-large: every store with USERS (1000000) users and sessions, each figure beside hand-written code for the same work
bench-large: images
	cd adaptertest/bundled && GOWORK=off go run ./cmd/benchlarge $(USERS)

## interop: test with the real Auth.js over our tokens and databases, and with a certified OpenID provider; needs Node
interop: images browser
	@if .ci/setup-node; then $(MAKE) --no-print-directory interop-tests; else test "$$CI" != true; fi

interop-tests:
	@for d in . pg prisma drizzle drizzlepg drizzlemysql mongo upstash oidc types webauthn; do node interop/install.mjs $$d || exit 1; done
	@$(WITH_STORES) -- sh -ec 'cd auth && go test -count=1 -run "Interop|AuthJS" ./...; (cd webauthn && go test -count=1 -run AuthJS .); \
		for d in adapters/postgres adapters/mysql adapters/sqlite adapters/mongo adapters/redis/cmd/copyupstash examples/demo examples/react examples/sveltekit examples/api; do (cd ../$$d && go test -count=1 -run Interop .); done'

## shims: the suite over the real adapters of Auth.js, through the protocol for other languages, on real servers; needs Node
shims: images
	@$(WITH_STORES) -fast -stores postgres,replica,redis -- sh -c 'cd adaptertest && GOWORK=off go test -count=1 -timeout 1h -v -run TestNode ./cmd/adaptertest -every-shim'

## whole: as a whole what `make test` does in part: broken adapters and our own through the protocol for other languages, correct adapters in all rounds, the suite twice over each wiring and without each method
whole: images
	cd adaptertest/internal/mutants && GOWORK=off go test -count=1 -timeout 1h -run 'ThroughProtocol|Conform|Correct' . -whole
	cd adaptertest/bundled && GOWORK=off go test -count=1 -timeout 1h -v -run 'ThroughProtocol|Twice|MissingMethods' ./internal/wirings -whole

## screenshots: a picture of each built-in page in two widths and both colour schemes, for the README of examples/demo; needs Chromium and Node
screenshots: browser
	@mkdir -p examples/demo/screenshots
	cd examples/demo && go test -count=1 -run Looks . -screenshots screenshots

## lint: formatting, tidy modules and golangci-lint, whose govet is go vet
lint:
	@test -z "$$(gofmt -l $(MODULES))" || { gofmt -l $(MODULES); exit 1; }
	@printf '%s\n' $(MODULES) | xargs -P 4 -I{} sh -c 'GOWORK=off go -C {} mod tidy -diff || { echo "lint: go mod tidy changes {}"; exit 1; }'
	go run $(LINT) run $(addprefix ./,$(addsuffix /...,$(WORKSPACE)))
	@set -e; for m in $(OUTSIDE); do echo "== $$m"; (cd $$m && GOWORK=off go run $(LINT) run ./...); done

## demo: a small site that signs people in, on this machine
demo:
	@GATEHOUSE_DEVPROVIDER=on go run ./examples/demo

browser:
	@.ci/setup-browser
