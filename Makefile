# One virtual environment, made when it is first needed.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# How long `make fuzz` looks.
FUZZ_SECONDS ?= 300
# How many times as many examples as in the tests `make fuzz-laws` takes.
FUZZ_TIMES ?= 40

.PHONY: demo test test-pythons lint types unit bench bench-serving soak forced e2e-vllm forced-gbnf fuzz fuzz-api fuzz-laws conformance conformance-tags round-trips clean

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/python -m unbraid demo

test: lint types unit

lint: $(STAMP)
	$(BIN)/ruff check src tests benchmarks docs deploy
	$(BIN)/ruff format --check src tests benchmarks docs deploy

types: $(STAMP)
	$(BIN)/mypy

unit: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist worksteal tests

test-pythons:
	$(PYTHON) tests/pythons.py

bench: $(STAMP)
	$(BIN)/python -m benchmarks.run

bench-serving: $(STAMP)
	$(BIN)/python -m benchmarks.serving.overhead
	$(BIN)/python -m benchmarks.serving.load --streams 500 --seconds 180
	$(BIN)/python -m benchmarks.serving.load --streams 1000 --limit 500 --seconds 60

soak: $(STAMP)
	$(BIN)/python -m benchmarks.serving.load --streams 100 --seconds 3600

forced: $(STAMP)
	$(BIN)/python -m tests.forced.run

forced-gbnf: $(STAMP)
	$(BIN)/python -m tests.forced.run --gbnf

# The real vLLM, installed on first use into the cache (2.5 GB).
e2e-vllm: $(STAMP)
	$(BIN)/python -m tests.e2e_vllm.run

fuzz: $(STAMP)
	$(BIN)/python -m tests.fuzz --seconds $(FUZZ_SECONDS)

fuzz-laws: $(STAMP)
	UNBRAID_FUZZ=$(FUZZ_TIMES) $(BIN)/python -m pytest -n 2 --dist worksteal tests/laws tests/constrain

fuzz-api: $(STAMP)
	UNBRAID_FUZZ=$(FUZZ_TIMES) $(BIN)/python -m pytest tests/server/test_openapi_fuzz.py

conformance: $(STAMP)
	$(BIN)/python -m tests.conformance.report --write

round-trips: $(STAMP)
	$(BIN)/python -m tests.conformance.rendered

conformance-tags:
	$(PYTHON) tests/conformance_tags/run.py

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
