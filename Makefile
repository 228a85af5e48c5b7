# Everything that is done to this tree is a target here; `make` alone lists them.

# The product, and the same for a stock Envoy (the build tag envoy).
WASM := dist/endpoint-breaker.wasm
ENVOY_WASM := dist/endpoint-breaker-envoy.wasm
BOTH := $(WASM) $(ENVOY_WASM)
BIN := .cache/bin
GOLANGCI_LINT := $(BIN)/golangci-lint
GOTEST := $(BIN)/gotest $(if $(CI),-no-skips) --

# The steps of `make test`; EXTRA_STEPS are appended (.ci/run does so).
STEPS := setup tools build lint vet tools-test race wasm envoy-test cover fuzz-short
EXTRA_STEPS :=

# The coverage gate is for the algorithm: every file of the plugin that does not
# call the gateway. The others natively have nobody to talk to; the step `wasm`
# tests them, and clock_*.go, which is the clock of either side.
HOST_FILES = $(shell grep -l '"github.com/higress-group/' *.go) clock_native.go clock_wasip1.go
ALGORITHM_FILES = $(filter-out $(HOST_FILES) %_test.go,$(wildcard *.go))

# Their tests run the shipped binary. The race detector sees nothing inside wasm
# and makes compiling it many times slower, so they run without it.
WASM_PACKAGES := %/shipped %/foreign %/internal/chaos %/internal/pluginlog %/internal/sim %/internal/tuning

# Their tests run a real Envoy, too. Each starts several, so they run one after the
# other: on a busy machine every endpoint is slow.
ENVOY_PACKAGES := %/envoy-test %/internal/envoy %/internal/simenvoy %/internal/compare %/internal/demo %/cmd/lab
PACKAGES = $(shell go list ./...)

# Other people's plugins, for the tests in foreign/.
FOREIGN := .cache/foreign

# On which gateway: --gateway=envoy or --gateway=embedded; on Envoy if there is one.
DEMO_FLAGS :=

# How long each fuzz target runs under `make fuzz` and `make fuzz-short`.
FUZZTIME := 1m
FUZZTIME_SHORT := 5s

# The same sources make the same binary, whatever git says about the tree.
export GOFLAGS := $(strip $(GOFLAGS) -buildvcs=false)

.PHONY: help
help: ## list the targets
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)$$/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

.PHONY: build
build: $(BOTH) ## build the plugin, for Higress and for a stock Envoy, into dist/

.PHONY: demo
demo: $(BOTH) ## show a slow endpoint being found, avoided and taken back
	@tools/envoy.sh || echo "demo: without Envoy, on the embedded gateway"
	go run ./cmd/lab demo $(DEMO_FLAGS)

.PHONY: compare
compare: $(ENVOY_WASM) envoy ## compare the breaker with what Envoy can do by itself (minutes); writes docs/comparison.md
	go run ./cmd/lab compare --out docs

.PHONY: compare-quick
compare-quick: $(ENVOY_WASM) envoy ## the same for three set-ups and two faults, and fail if the breaker is not ahead
	go run ./cmd/lab compare --quick

.PHONY: sim
sim: $(WASM) ## run every scenario in scenarios/
	go run ./cmd/lab sim scenarios/*.yaml

.PHONY: test
test: ## everything that must pass: build, lint, vet and all tests, with a table of times
	@MAKE="$(MAKE)" tools/steps.sh $(STEPS) $(EXTRA_STEPS)

.PHONY: setup
setup: ## see to the C compiler, pip and the Redis server that tests need
	@tools/setup.sh

.PHONY: tools
tools: $(GOLANGCI_LINT) $(BIN)/gotest $(BIN)/coverage ## build the pinned linter (minutes, once) and the helpers

.PHONY: lint
lint: $(GOLANGCI_LINT) ## lint natively, as wasm, for either gateway, and tools/
	$(GOLANGCI_LINT) run ./...
	GOOS=wasip1 GOARCH=wasm $(GOLANGCI_LINT) run --tests=false .
	$(GOLANGCI_LINT) run --build-tags envoy .
	GOOS=wasip1 GOARCH=wasm $(GOLANGCI_LINT) run --build-tags envoy --tests=false .
	cd tools && ../$(GOLANGCI_LINT) run --config ../.golangci.yml ./...

.PHONY: fmt
fmt: $(GOLANGCI_LINT) ## format all Go files
	$(GOLANGCI_LINT) fmt

.PHONY: vet
vet: ## go vet, natively and as wasm, for either gateway
	go vet ./...
	go vet -tags envoy .
	GOOS=wasip1 GOARCH=wasm go vet .
	GOOS=wasip1 GOARCH=wasm go vet -tags envoy .
	go vet -C tools ./...

.PHONY: envoy
envoy: ## download the Envoy that tests and demo run on (37 MB, once)
	@tools/envoy.sh

.PHONY: foreign-plugins
foreign-plugins: ## download other people's plugins for the tests in foreign/ (27 MB, once)
	@tools/foreign-plugins.sh $(FOREIGN)

.PHONY: foreign
foreign: $(WASM) foreign-plugins ## run them around ours and show the table of what they did
	go test -count=1 -v -run 'TestEveryForeignPlugin|TestAllForeignPlugins' ./foreign

.PHONY: unit
unit: $(BOTH) foreign-plugins envoy $(BIN)/gotest ## all tests but the long ones, without the race detector
	$(BIN)/gotest -- -short ./...

.PHONY: race
race: $(WASM) $(BIN)/gotest ## tests under the race detector, but for those of the next two steps
	CGO_ENABLED=1 $(GOTEST) -race $(filter-out $(WASM_PACKAGES) $(ENVOY_PACKAGES),$(PACKAGES))
	CGO_ENABLED=1 $(GOTEST) -race -tags envoy .

.PHONY: wasm
wasm: $(BOTH) foreign-plugins $(BIN)/gotest ## tests of the shipped binary in the embedded gateway
	$(GOTEST) -count=1 $(filter $(WASM_PACKAGES),$(PACKAGES))

.PHONY: envoy-test
envoy-test: $(BOTH) envoy $(BIN)/gotest ## tests of the shipped binary on a real Envoy
	$(GOTEST) -count=1 -p 1 -timeout 20m $(filter $(ENVOY_PACKAGES),$(PACKAGES))

.PHONY: chaos
chaos: $(WASM) ## a million random requests with everything mixed: only the slow host may be blocked (minutes)
	go test -count=1 -v -timeout 1h -run TestOnlyTheSlowHostIsEverBlocked ./internal/chaos -requests 1000000

.PHONY: cover
cover: $(BIN)/gotest $(BIN)/coverage ## coverage of the algorithm files; fails if a branch is untested
	$(GOTEST) -tags envoy -covermode=atomic -coverprofile=.cache/cover.out .
	@echo "not measured here, left to the step wasm: $(sort $(filter-out %_test.go,$(HOST_FILES)))"
	@$(BIN)/coverage -profile .cache/cover.out $(ALGORITHM_FILES)

.PHONY: fuzz
fuzz: ## run each fuzz target for FUZZTIME (1m)
	@tools/fuzz.sh $(FUZZTIME)

.PHONY: fuzz-short
fuzz-short: ## run each fuzz target for FUZZTIME_SHORT (5s)
	@tools/fuzz.sh $(FUZZTIME_SHORT)

.PHONY: tools-test
tools-test: $(BIN)/gotest ## tests of the helpers in tools/
	cd tools && ../$(GOTEST) ./...

.PHONY: tidy-check
tidy-check: ## fail when a go.mod or go.sum is not tidy
	go mod tidy -diff
	cd tools && go mod tidy -diff

.PHONY: clean
clean: ## remove what was built
	rm -rf dist .cache

# Go's own cache knows what has changed, also when a file was taken away.
.PHONY: FORCE
$(ENVOY_WASM): TAGS := -tags envoy
$(BOTH): FORCE
	@mkdir -p $(@D)
	GOOS=wasip1 GOARCH=wasm go build $(TAGS) -buildmode=c-shared -trimpath -ldflags="-s -w" -o $@ .

$(GOLANGCI_LINT): tools/go.mod tools/go.sum
	go build -C tools -trimpath -ldflags="-s -w" -o ../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

$(BIN)/gotest $(BIN)/coverage: $(BIN)/%: $(wildcard tools/cmd/*/*.go) tools/go.mod
	go build -C tools -o ../$@ ./cmd/$*
