# Everything that is done to this tree is a target here; `make` alone lists them.

WASM := dist/endpoint-breaker.wasm
BIN := .cache/bin
GOLANGCI_LINT := $(BIN)/golangci-lint
GOTEST := $(BIN)/gotest $(if $(CI),-no-skips) --

# The steps of `make test`; EXTRA_STEPS are appended (.ci/run does so).
STEPS := setup tools build lint vet tools-test race wasm cover fuzz-short
EXTRA_STEPS :=

# The coverage gate is for the algorithm: every file of the plugin that does not
# call the gateway. The others natively have nobody to talk to; the step `wasm`
# tests them, and clock_*.go, which is the clock of either side.
HOST_FILES = $(shell grep -l '"github.com/higress-group/' *.go) clock_native.go clock_wasip1.go
ALGORITHM_FILES = $(filter-out $(HOST_FILES) %_test.go,$(wildcard *.go))

# Their tests run the shipped binary. The race detector sees nothing inside wasm
# and makes compiling it many times slower, so they run without it.
WASM_PACKAGES := %/shipped %/foreign %/internal/demo %/internal/sim %/cmd/lab
PACKAGES = $(shell go list ./...)

# Other people's plugins, for the tests in foreign/.
FOREIGN := .cache/foreign

# How long each fuzz target runs under `make fuzz` and `make fuzz-short`.
FUZZTIME := 1m
FUZZTIME_SHORT := 5s

# The same sources make the same binary, whatever git says about the tree.
export GOFLAGS := $(strip $(GOFLAGS) -buildvcs=false)

.PHONY: help
help: ## list the targets
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)$$/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

.PHONY: build
build: $(WASM) ## build the plugin, dist/endpoint-breaker.wasm

.PHONY: demo
demo: $(WASM) ## show a slow endpoint being found, avoided and taken back
	go run ./cmd/lab demo

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
lint: $(GOLANGCI_LINT) ## lint natively, as wasm, and tools/
	$(GOLANGCI_LINT) run ./...
	GOOS=wasip1 GOARCH=wasm $(GOLANGCI_LINT) run --tests=false .
	cd tools && ../$(GOLANGCI_LINT) run --config ../.golangci.yml ./...

.PHONY: fmt
fmt: $(GOLANGCI_LINT) ## format all Go files
	$(GOLANGCI_LINT) fmt

.PHONY: vet
vet: ## go vet, natively and as wasm
	go vet ./...
	GOOS=wasip1 GOARCH=wasm go vet .
	go vet -C tools ./...

.PHONY: foreign-plugins
foreign-plugins: ## download other people's plugins for the tests in foreign/ (27 MB, once)
	@tools/foreign-plugins.sh $(FOREIGN)

.PHONY: foreign
foreign: $(WASM) foreign-plugins ## run them around ours and show the table of what they did
	go test -count=1 -v -run 'TestEveryForeignPlugin|TestAllForeignPlugins' ./foreign

.PHONY: unit
unit: $(WASM) foreign-plugins $(BIN)/gotest ## all tests but the long ones, without the race detector
	$(BIN)/gotest -- -short ./...

.PHONY: race
race: $(WASM) $(BIN)/gotest ## tests under the race detector, but for those of WASM_PACKAGES
	CGO_ENABLED=1 $(GOTEST) -race $(filter-out $(WASM_PACKAGES),$(PACKAGES))

.PHONY: wasm
wasm: $(WASM) foreign-plugins $(BIN)/gotest ## tests of the shipped binary in the embedded gateway
	$(GOTEST) -count=1 $(filter $(WASM_PACKAGES),$(PACKAGES))

.PHONY: cover
cover: $(BIN)/gotest $(BIN)/coverage ## coverage of the algorithm files; fails if a branch is untested
	$(GOTEST) -covermode=atomic -coverprofile=.cache/cover.out .
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
$(WASM): FORCE
	@mkdir -p $(@D)
	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -trimpath -ldflags="-s -w" -o $@ .

$(GOLANGCI_LINT): tools/go.mod tools/go.sum
	go build -C tools -trimpath -ldflags="-s -w" -o ../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

$(BIN)/gotest $(BIN)/coverage: $(BIN)/%: $(wildcard tools/cmd/*/*.go) tools/go.mod
	go build -C tools -o ../$@ ./cmd/$*
