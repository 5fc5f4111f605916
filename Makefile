# The two commands of a newcomer are `make demo` and `make test`.

STATICCHECK = go run honnef.co/go/tools/cmd/staticcheck@v0.8.2
DIR ?= .

# install installs Debian packages, as root or through sudo.
define install
sudo=; [ "$$(id -u)" = 0 ] || sudo=sudo; \
command -v apt-get >/dev/null && { [ -z "$$sudo" ] || command -v sudo >/dev/null; } || \
	{ echo "install these packages yourself, which needs root and apt-get here: $(1)"; exit 1; }; \
$$sudo apt-get update -qq && $$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $(1) >/dev/null;
endef

.PHONY: demo test setup check generate bench soak compat

demo: ## generate, then run typed tasks on the files below DIR, with an embedded server
	go generate ./...
	go run ./example/app -dir $(DIR)

test: setup ## everything, against real Redis and real Node peers; nothing is skipped. SHORT=1: in a minute, and it says what it leaves out
	@BULLMQ_REQUIRE=1 go run ./internal/testrun $(if $(SHORT),-short)

setup: ## what the tests need beside Go and Node: a Redis server, git, patch, the modules and the npm peers
	@command -v redis-server >/dev/null && command -v git >/dev/null && command -v patch >/dev/null || { \
		echo "installing redis-server, git and patch"; $(call install,redis-server git patch) }
	@echo "downloading modules"; go mod download
	@test interop/node/node_modules/.package-lock.json -nt interop/node/package-lock.json || { \
		echo "installing the npm peers"; \
		cd interop/node && npm ci --silent --no-audit --no-fund && touch node_modules/.package-lock.json; }

check: ## formatting, vet, staticcheck, fresh generated code, tidy modules
	@test -z "$$(gofmt -l $$(git ls-files '*.go' | grep -v '^testdata/'))" || { gofmt -l $$(git ls-files '*.go' | grep -v '^testdata/'); echo "run gofmt -w on these files"; exit 1; }
	go vet ./...
	$(STATICCHECK) ./...
	go run ./cmd/bullmq-gen -check ./...
	go mod tidy -diff
	cd bench && go vet ./... && go mod tidy -diff

generate: ## the generated code of the example
	go generate ./...

bench: setup ## side by side with Node, asynq and River; see docs/performance.md
	@command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || { \
		echo "installing postgresql"; $(call install,postgresql) }
	cd bench && go run .

soak: setup ## Go and Node programs on the same queues under random faults: JOBS, SEED; see docs/reliability.md
	BULLMQ_REQUIRE=1 BULLMQ_SOAK_JOBS=$(or $(JOBS),1000000) BULLMQ_SEED=$(or $(SEED),1) BULLMQ_SOAK_REPORT=1 \
		go test ./interop/soak -run Fleet -v -count=1 -timeout 24h

compat: setup ## the interop scenarios with other releases of bullmq: VERSIONS; see docs/compatibility.md
	go run ./interop/compat $(or $(VERSIONS),5.1.0 5.20.0 5.40.0 5.58.0 5.81.5 6.0.0 6.3.0 6.7.0)
