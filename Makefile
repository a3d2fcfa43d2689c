# `make` sets up the environment and runs the default workflow; `make test` runs the tests. Only Python 3.11+ is needed.
PYTHON ?= python3
CORES ?= 8
ARGS ?=
RUN ?= demo
python := .venv/bin/python
snakemake := $(python) -m snakemake --cores $(CORES)
workers := --numprocesses=auto --dist=loadfile
code := scripts tests benchmarks

.PHONY: default environment fetch smoke paper price retry test quick-test lint format lock clean

default: environment
	$(snakemake) $(ARGS)
	@for run in results/*/report.html; do echo "report: $$run"; done

environment: .venv/complete

.venv/complete: requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version.split()[0])'
	@if [ -L .venv ]; then echo ".venv is a link to $$(readlink .venv), which would be emptied: remove the link" >&2; exit 1; fi
	$(PYTHON) -m venv --clear .venv
	$(python) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	@touch $@

fetch: environment  ## bring the public inputs, every hash verified
	$(python) scripts/fetch_source.py

smoke: environment  ## the continuous integration subset
	$(snakemake) --config runs=smoke

paper: environment  ## the verdict study from its public release; fetches what it needs
	$(snakemake) --config runs=paper

price: environment  ## make price RUN=demo: calls, stored calls, tokens and an upper bound of the cost; asks nobody
	$(snakemake) --quiet host progress reason rules --config runs=$(RUN) -- price

retry: environment  ## make retry RUN=demo: ask again for the answers that did not come, and for nothing else
	$(snakemake) --config runs=$(RUN) --forcerun query

test: environment
	$(python) -m pytest $(workers) $(ARGS)

quick-test: environment
	$(python) -m pytest -m "not slow" $(workers) $(ARGS)

lint: environment
	$(python) -m ruff check $(code)
	$(python) -m ruff format --check $(code)
	$(python) -m mypy scripts/warrant scripts/*.py
	$(python) -m snakefmt --check Snakefile workflow
	$(python) -m snakemake --lint

format: environment
	$(python) -m ruff format $(code)
	$(python) -m ruff check --fix $(code)
	$(python) -m snakefmt Snakefile workflow

lock:  ## renew requirements.txt (needs uv)
	uv pip compile --universal --fork-strategy fewest --generate-hashes --no-emit-index-url --no-header \
	  --python-version 3.11 --extra test pyproject.toml -o requirements.txt

clean:  ## remove results; the environment and what was downloaded or paid for stay
	rm -rf logs .snakemake
	find results -mindepth 1 ! -name README.md -delete
