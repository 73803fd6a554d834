# Everything here needs Go and make; race needs a C compiler, e2e the storage servers that .ci/run installs.
VERSION ?= 0.1.0-dev
GO      ?= go

BIN        := bin
TOOLS      := $(BIN)/tools
COLLECTORS := cmd/otelcol-tapedeck cmd/otelcol-tapedeck-full

# The same sources give the same bytes, in a clone, in an archive and in a folder that git does not trust. The flags hold for
# tests and vet too, because every set of flags has its own compiled dependencies: with one set, 400 packages build once.
export GOFLAGS := $(GOFLAGS) -trimpath -buildvcs=false
BUILD     := -ldflags "-s -w -X main.built=$(VERSION)"
COLLECTOR := -ldflags "-s -w -X main.version=$(VERSION)"

# The rule of the house is that a package that starts goroutines checks for leaks; these are the ones to run with -race.
RACE = $(shell grep -rl --include='*_test.go' 'goleak\.' . | xargs -r -n1 dirname | sort -u) ./internal/deck/reel ./internal/evaluation/experiment/... ./internal/replay/... ./oracle/oracleclient
# Of the commands only those that run something at once: the others would take half the time of the detector,
# most of it to start programs.
RACE_COMMANDS = Tail|Suite|Check|Verif|Audit|Shard|Experiment|Recorded|Serve

.DEFAULT_GOAL := help
.PHONY: help build build-full tapedeck iceberg collector demo test test-all race vet lint generate generate-check site docs-check scorecard redact-score redact-peers e2e e2e-published e2e-again e2e-campaign e2e-million bench bench-peers bench-against bench-assembly bench-spool bench-oracle fuzz-short tools licences vulncheck sbom release cross clean

help: ## this text
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: collector tapedeck ## bin/otelcol-tapedeck and bin/tapedeck (6 to 7 minutes on 2 cores with empty caches)

collector:
	$(GO) -C cmd/otelcol-tapedeck build $(COLLECTOR) -o ../../$(BIN)/otelcol-tapedeck .

tapedeck:
	$(GO) build $(BUILD) -o $(BIN)/tapedeck ./cmd/tapedeck

iceberg: ## bin/tapedeck-iceberg: a deck as an Iceberg table
	$(GO) -C cmd/tapedeck-iceberg build $(BUILD) -o ../../$(BIN)/tapedeck-iceberg .

build-full: ## bin/otelcol-tapedeck-full: all object stores, kafka, load_balancing
	$(GO) -C cmd/otelcol-tapedeck-full build $(COLLECTOR) -o ../../$(BIN)/otelcol-tapedeck-full .

demo: build ## start a collector, send it a recorded agent run, show the tape
	$(GO) run ./internal/testbed/cmd/demo -bin $(BIN)

# Twice as many packages as processors run at a time, because some wait for a disk. Vetting is a part of make lint: in a new
# cache it reads the sources of all dependencies once more.
AT_A_TIME = $(shell getconf _NPROCESSORS_ONLN 2>/dev/null | awk '{ print "-p", 2 * $$1 }')

test: ## all unit tests, with a part of the long corpora; vets the generated collectors
	$(GO) test -vet=off $(AT_A_TIME) -timeout 30m ./... # the largest package takes a minute of CPU, and a busy machine ten times as long
	$(GO) -C tools test -count=1 ./... # they read documents outside of their module, of which the cache of results knows nothing
	$(GO) -C internal/testbed/examplestest test ./...
	$(GO) -C internal/testbed/sdktest test ./...
	$(GO) -C internal/testbed/deploytest test ./...
	$(GO) -C cmd/otelcol-tapedeck test ./...
	@for dir in $(COLLECTORS); do echo "$(GO) -C $$dir vet ./..."; $(GO) -C $$dir vet ./... || exit 1; done

test-all: export TAPEDECK_TEST_WHOLE_CORPUS := 1
test-all: test ## all unit tests, with the whole of the long corpora

race: ## the packages that own goroutines, with the race detector
	$(GO) test -race -timeout 20m $(filter-out ./cmd/tapedeck,$(RACE))
	$(GO) test -race -timeout 20m -run '$(RACE_COMMANDS)' ./cmd/tapedeck

vet: ## go vet with and without the end-to-end tests
	$(GO) vet ./...
	$(GO) vet -tags e2e,published ./e2e/...
	$(GO) -C tools vet ./...
	$(GO) -C cmd/tapedeck-iceberg vet ./...
	$(GO) -C internal/testbed/examplestest vet ./...
	$(GO) -C internal/testbed/sdktest vet ./...
	$(GO) -C internal/testbed/deploytest vet ./...
	$(GO) -C internal/testbed/browsertest vet ./...

lint: vet docs-check $(TOOLS)/staticcheck ## gofmt, vet, staticcheck, docs-check, the subjects of new commits
	$(GO) -C tools run ./subjects -root ..
	@bad=$$(find . -name '*.go' -print0 | xargs -0 gofmt -l); \
		if [ -n "$$bad" ]; then echo "gofmt would change:"; echo "$$bad"; exit 1; fi
	$(TOOLS)/staticcheck -tags e2e,published ./...
	cd tools && ../$(TOOLS)/staticcheck ./...
	cd cmd/tapedeck-iceberg && ../../$(TOOLS)/staticcheck ./...
	cd internal/testbed/examplestest && ../../../$(TOOLS)/staticcheck ./...
	cd internal/testbed/sdktest && ../../../$(TOOLS)/staticcheck ./...
	cd internal/testbed/deploytest && ../../../$(TOOLS)/staticcheck ./...
	cd internal/testbed/browsertest && ../../../$(TOOLS)/staticcheck ./...

licences: ## fail when a program links a module whose licence is not allowed or not told
	$(GO) -C tools run ./licences -root ..

vulncheck: $(TOOLS)/staticcheck ## known vulnerabilities in what the programs call; says so where the database cannot be reached
	.ci/vulncheck $(TOOLS)/govulncheck

sbom: build build-full iceberg $(TOOLS)/cyclonedx-gomod ## dist/*.cdx.json: a bill of materials (CycloneDX) of each built program, with licences
	@mkdir -p dist
	for program in tapedeck tapedeck-iceberg otelcol-tapedeck otelcol-tapedeck-full; do \
		$(TOOLS)/cyclonedx-gomod bin -json -licenses -noserial -notimestamp -std -version v$(VERSION) -output dist/$$program.cdx.json $(BIN)/$$program || exit 1; done

generate: tools ## rewrite what is generated: component code and tables, the sources of the collectors
	$(GO) -C tools run ./generate -root .. -tools ../$(TOOLS)
	$(GO) -C tools run ./site -root .. -order

# Compares the tree with itself, not with the last commit, so that it also works while something is being changed.
TREE = git ls-files -z --cached --others --exclude-standard | xargs -0 sha256sum 2>/dev/null | sort -k 2

generate-check: tools ## fail when `make generate` changes anything
	@mkdir -p $(BIN) && $(TREE) > $(BIN)/tree.before
	@$(MAKE) --no-print-directory generate
	@$(TREE) > $(BIN)/tree.after
	@diff $(BIN)/tree.before $(BIN)/tree.after || { echo "generated files were stale: commit what make generate wrote"; exit 1; }

site: ## the documents as pages for a browser, in build/site
	$(GO) -C tools run ./site -root .. -out ../build/site

docs-check: ## fail when a document is hard to read: long sentences and lines, names of tests in prose, no first line that says what it is for
	$(GO) -C tools run ./docscheck -root ..

scorecard: ## what the tapes of the recorded runs hold, into docs/scorecard.md and README.md
	$(GO) run ./internal/testbed/cmd/scorecard -o docs/scorecard.md -readme README.md

redact-score: ## what redaction finds and what it leaves alone, into docs/redaction*.md; then every kind in every place on its way into a deck
	$(GO) run ./internal/testbed/cmd/redactscore -o docs
	$(GO) test ./internal/testbed/cmd/redactscore -run 'NothingPlantedReachesADeck|WhatIsRememberedChangesNothing|TextsThatAreNoStream|DeltasOfOneStream' -redact.every 1

redact-peers: ## the same cases with contrib's redaction processor and gitleaks, and CPU time in one run; prints both
	@mkdir -p $(BIN)
	$(GO) run ./internal/testbed/cmd/redactscore -cases $(BIN)/redaction-cases.jsonl
	$(GO) -C bench/redaction run . -cases ../../$(BIN)/redaction-cases.jsonl
	$(GO) -C bench/redaction run . -speed

e2e: build build-full iceberg tools ## the built collectors against real storage servers
	PATH="$$PATH:$$($(GO) env GOPATH)/bin" TAPEDECK_BIN=$(CURDIR)/$(BIN) $(GO) test -tags e2e -count=1 -timeout 30m ./e2e/... ./internal/testbed/cmd/capacity
	$(GO) -C cmd/tapedeck-iceberg test ./...
	$(GO) -C internal/testbed/browsertest test -count=1 ./...

PUBLISHED ?= .*

e2e-published: tapedeck ## record and replay published agents (PUBLISHED, a pattern of names) from npm and PyPI; UPDATE=-update writes docs/replay.md; 5 GB, half an hour
	TAPEDECK_BIN=$(CURDIR)/$(BIN) TAPEDECK_PUBLISHED="$${TAPEDECK_CI_CACHE:-$${XDG_CACHE_HOME:-$$HOME/.cache}/tapedeck-ci}/published" \
		$(GO) test -tags published -count=1 -v -timeout 2h ./e2e/published -run 'TestPublished/^($(PUBLISHED))$$' $(if $(UPDATE),-args $(UPDATE))

CAMPAIGN_RUNS ?= 100000

e2e-campaign: build tools ## that many runs (CAMPAIGN_RUNS) from two collectors to their erasure on MinIO, one killed again and again; half an hour
	PATH="$$PATH:$$($(GO) env GOPATH)/bin" TAPEDECK_BIN=$(CURDIR)/$(BIN) TAPEDECK_TEST_CAMPAIGN_RUNS=$(CAMPAIGN_RUNS) \
		$(GO) test -tags e2e -count=1 -v -timeout 2h ./e2e -run TestNoRunIsLostFromItsSpansToItsErasure

e2e-again: build ## that many runs (CAMPAIGN_RUNS) from a deck of reels into another, by the tape receiver, through a kill; eleven minutes
	TAPEDECK_BIN=$(CURDIR)/$(BIN) TAPEDECK_TEST_REEMITTED_RUNS=$(CAMPAIGN_RUNS) $(GO) test -tags e2e -count=1 -v -timeout 2h ./e2e -run TestReelsMoveThroughAKill

MANY_RUNS ?= 1000000

e2e-million: tapedeck ## that many runs (MANY_RUNS) in reels on a disk: compact, ls, show and DuckDB within their bounds; half an hour, 3 GB of disk
	TAPEDECK_BIN=$(CURDIR)/$(BIN) TAPEDECK_TEST_MANY_RUNS=$(MANY_RUNS) $(GO) test -tags e2e -count=1 -v -timeout 2h ./e2e -run TestAMillionRuns

bench: ## all benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./...

bench-peers: collector $(BIN)/otelcol-peers ## CPU and memory of our pipelines beside contrib's, same load (Linux, needs versitygw)
	PATH="$$PATH:$$($(GO) env GOPATH)/bin" $(GO) run ./internal/testbed/cmd/benchpeers $(BENCH_PEERS)

OLD ?= aa813462

bench-against: collector ## CPU of the default pipeline beside that of OLD (a commit), by turns, five rounds; an hour and a half on a quiet machine
	rm -rf $(BIN)/against && mkdir -p $(BIN)/against && git archive $(OLD) | tar -x -C $(BIN)/against
	$(GO) -C $(BIN)/against/cmd/otelcol-tapedeck build $(COLLECTOR) -o $(CURDIR)/$(BIN)/otelcol-against .
	PATH="$$PATH:$$($(GO) env GOPATH)/bin" $(GO) run ./internal/testbed/cmd/benchpeers -against $(BIN)/otelcol-against -against-root $(BIN)/against -shape short,long,corpus -new 0,100 -rounds 5 \
		-run '^(examples/.*|deck of reels)$$' $(BENCH_AGAINST)
	rm -rf $(BIN)/against

bench-assembly: collector $(BIN)/otelcol-peers ## grouping alone beside contrib's, same load (Linux)
	$(GO) run ./internal/testbed/cmd/benchpeers -table assembly $(BENCH_ASSEMBLY)

bench-spool: ## the spool beside a plain file, tidwall/wal, Pebble and bbolt, same load (Linux)
	$(GO) -C bench/spool test -run '^$$' -bench Peers -benchtime 40000x -count 2 ./...

# WireMock is run, never linked, and only where java and Maven are; Maven checks the jar against the digest of the repository that it is set up for.
WIREMOCK := $(BIN)/wiremock/wiremock-standalone-3.13.2.jar

bench-oracle: tapedeck ## requests per second of `tapedeck serve` beside a server that does nothing and WireMock (Linux)
	@if command -v java >/dev/null && command -v mvn >/dev/null; then $(MAKE) --no-print-directory $(WIREMOCK); \
		else echo "no JVM with Maven: without WireMock"; fi
	$(GO) build -o $(BIN)/benchoracle ./internal/testbed/cmd/benchoracle
	$(BIN)/benchoracle -tapedeck $(BIN)/tapedeck -wiremock "$$(ls $(WIREMOCK) 2>/dev/null)" $(BENCH_ORACLE)

$(WIREMOCK): .ci/wiremock.xml
	mvn -q -B -f $< dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=$(CURDIR)/$(@D)
	@touch $@

# Not `builder` alone: it tidies, and the tests of awss3 need modules that cannot be downloaded. The folder must be a module before
# anything is got, or the versions would go into ours.
$(BIN)/otelcol-peers: bench/peers/builder-config.yaml $(TOOLS)/staticcheck
	rm -rf $(BIN)/peers
	$(TOOLS)/builder --config $< --skip-get-modules --skip-compilation
	cd $(BIN)/peers && $(GO) mod init peers && \
		GOFLAGS="$(GOFLAGS) -mod=mod" $(GO) get go.opentelemetry.io/collector/otelcol@v0.165.0 $$(sed -n 's/.*gomod: \([^ ]*\) /\1@/p' ../../$<) && \
		GOFLAGS="$(GOFLAGS) -mod=mod" $(GO) build -ldflags "-s -w" -o ../otelcol-peers .
	rm -rf $(BIN)/peers

fuzz-short: ## every fuzz target for FUZZTIME (10s)
	.ci/fuzz $(or $(FUZZTIME),10s)

tools: $(TOOLS)/staticcheck

# One build for all three; staticcheck stands for them.
$(TOOLS)/staticcheck: tools/go.mod tools/go.sum
	$(GO) -C tools build -o ../$(TOOLS)/ tool
	@touch $@

# The bill of materials has a module of its own: its tool brings more dependencies than all others together.
$(TOOLS)/cyclonedx-gomod: tools/sbom/go.mod tools/sbom/go.sum
	$(GO) -C tools/sbom build -o ../../$(TOOLS)/ tool
	@touch $@

release: $(TOOLS)/cyclonedx-gomod ## dist/: archives, bills of materials and checksums of VERSION for PLATFORMS (all six); prints the tags
	$(GO) -C tools build -o ../$(TOOLS)/release ./release
	$(TOOLS)/release -version $(VERSION) -out dist $(if $(PLATFORMS),-platforms $(PLATFORMS))
	@echo "tags of this release:"; $(TOOLS)/release -version $(VERSION) -tags

cross: ## compile tapedeck for each other system, and the collector for Windows; keeps nothing
	$(GO) -C tools build -o ../$(TOOLS)/release ./release
	$(TOOLS)/release -version $(VERSION) -compile $(if $(PLATFORMS),-platforms $(PLATFORMS))

clean: ## remove bin/ and dist/
	rm -rf $(BIN) dist
