# Two commands on a fresh machine with Python 3.11+ and a C++ compiler:  make evolve   make test
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NATIVE := $(shell find native -name "*.hpp" -o -name "*.cpp" -o -name "*.py") CMakeLists.txt
CXX_FILES := $(filter %.hpp %.cpp,$(NATIVE)) $(wildcard bench/*.cpp tests/native/*.cpp tests/native/*.hpp)
# Warnings of the compiler are errors in CI; `make build STRICT=ON` for yours.
STRICT ?= $(if $(CI),ON,OFF)
PIP := $(BIN)/pip --disable-pip-version-check --quiet
TORCH ?= torch==2.13.0
# What an extra needs.
extra = $$($(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["$(1)"])')

.DEFAULT_GOAL := help
.PHONY: help evolve build stub test test-aarch64 baselines lint types format bench soak clean

help: ## Show what can be made
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

evolve: build ## Evolve a controller for Cataclysmic Cartpole, test it and draw what came out (a minute)
	$(BIN)/arz evolve cartpole

build: $(VENV)/.built ## Create .venv, install arz there and compile the native core

stub: build ## Take over the types of the native core, after a change of what it offers
	cp $(VENV)/lib/python*/site-packages/arz/_*.pyi src/arz/

test: lint types ## Build, lint, type-check and test: what CI runs
	$(BIN)/pytest -n auto --dist loadgroup

test-aarch64: build ## Compare the bits of the core on aarch64, by qemu, with those of its builds for x86
	$(BIN)/python -m tests.native.bits

lint: $(VENV)/.dev ## Check style: ruff, clang-format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(CXX_FILES)

types: $(VENV)/.dev ## Check types: mypy, strict
	$(BIN)/mypy

format: $(VENV)/.dev ## Put Python and C++ into house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CXX_FILES)

baselines: $(VENV)/.dev ## Test PPO too, where a torch for the CPU alone is to be had
	@if $(PIP) install --dry-run --no-deps --ignore-installed --report - '$(TORCH)' 2> /dev/null | grep -q '+cpu\|%2Bcpu'; then \
		echo 'Installing $(TORCH) for the CPU, and what PPO needs ...' && $(PIP) install '$(TORCH)' && $(PIP) install $(call extra,baselines) \
		&& $(BIN)/pytest -n auto --dist loadgroup tests/test_ppo.py tests/test_ars.py; \
	else echo 'There is no $(TORCH) for the CPU alone here (others bring gigabytes for GPUs): PPO is not tested.'; fi

bench: build ## Measure speed, as ratios within one run
	$(BIN)/python -m bench

soak: $(VENV)/.dev ## Run the property tests for long
	ARZ_SOAK=1 $(BIN)/pytest -n auto --dist loadgroup

clean: ## Remove what was built
	rm -rf $(VENV) build dist

$(VENV)/.tools: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "arz needs Python 3.11 or newer, this is %s: make PYTHON=/path/to/python3" % sys.version.split()[0])'
	@command -v $${CXX:-c++} > /dev/null || { echo 'arz needs a C++20 compiler (GCC 12 or Clang 16, or newer), for instance: apt install g++'; exit 1; }
	@echo 'Creating $(VENV) with the tools to build ...'
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install cmake ninja $$($(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])')
	@touch $@

$(VENV)/.built: $(VENV)/.tools $(NATIVE) src/arz/ops.py src/arz/version.py
	@echo 'Compiling the native core and installing the rest, one to three minutes ...'
	@$(PIP) install --no-build-isolation -C cmake.define.ARZ_STRICT=$(STRICT) -e .
	@touch $@

# Not the extra "baselines": torch is large, and the tests that need it are skipped without it.
$(VENV)/.dev: $(VENV)/.built
	@echo 'Installing the tools for development ...'
	@$(PIP) install $$($(BIN)/python -c 'import tomllib; extras = tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]; print(*(need for name, names in extras.items() if name != "baselines" for need in names if not need.startswith("arz[")))')
	@touch $@
