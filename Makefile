# make demo: everything set up, and a report to open.   make test: everything set up, and all tests.
# make check: what to run before each commit.            make bench: the benchmarks, with their ratios.

# The Python to make the environment with; where none is named, the first that scripts/find-python.sh finds.
PYTHON ?=
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2
# The versions that the tests run with; `CONSTRAINTS=` for the newest ones, then scripts/dependencies.py to write them down.
CONSTRAINTS ?= -c constraints.txt
# Python keeps what it compiled, rewritten tests among them, whatever the shell says: else each worker compiles all anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo demo-mirage test test-slow check bench bench-judge bench-retrieval bench-diagnosis mutants clean system-packages
.DEFAULT_GOAL := check

# What a user gets: the core, the embedded model and the report.
$(VENV)/.user: pyproject.toml constraints.txt src/ragstone/cli/setup.py
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || \
		{ python=$$(sh scripts/find-python.sh $(PYTHON)) && echo "$$python -m venv $(VENV)" && "$$python" -m venv $(VENV); }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(CONSTRAINTS) -e '.[local,report,view]'
	$(BIN)/ragstone setup local
	touch $@

# And what a developer needs besides.
$(VENV)/.dev: $(VENV)/.user packages/ragstone-conform/pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(CONSTRAINTS) -e '.[local,report,view,files,dev]' -e packages/ragstone-conform
	touch $@

# A real Chromium, Chinese fonts and axe for the tests of pages.
system-packages:
	@sh scripts/system-packages.sh
	@sh scripts/axe.sh $(VENV)/axe

demo: $(VENV)/.user
	@sh scripts/demo.sh $(BIN)

# Retrievers beside models, on MIRAGE's protocol; about as long again.
demo-mirage: $(VENV)/.user
	@sh scripts/demo-mirage.sh $(BIN)

test: $(VENV)/.dev system-packages
	$(BIN)/ruff format --check src packages tests bench
	$(BIN)/ruff check src packages tests bench
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/pytest -q -n $(WORKERS) --dist worksteal

test-slow: $(VENV)/.dev system-packages
	$(BIN)/pytest -q -m 'slow and not live'

check: $(VENV)/.dev
	$(BIN)/ruff format --check src packages tests bench
	$(BIN)/ruff check src packages tests bench
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/pytest -q -x -n $(WORKERS) --dist worksteal --hypothesis-profile=quick -m 'not (slow or live or browser)'

bench: $(VENV)/.dev
	$(BIN)/python bench/startup.py
	$(BIN)/python bench/install.py
	$(BIN)/python bench/overhead.py

# Beside ragas and deepeval, which are installed once into environments of their own (1.2 GB in the user's cache).
bench-judge: $(VENV)/.dev
	$(BIN)/python bench/judge.py

# Beside FAISS, bm25s and pytrec_eval; `--only PART` for one part. Embedding takes most of it: minutes.
bench-retrieval: $(VENV)/.dev
	$(BIN)/python bench/retrieval.py

# Planted faults: which causes `diagnose` names. The other tools and LangChain get environments of their own. 20 minutes.
bench-diagnosis: $(VENV)/.dev
	$(BIN)/python -m bench.diagnosis --peers --langchain

# Whether the tests fail when the code breaks; `AREA=report` for one area, `SEED=1` for other mutants. Hours for all.
mutants: $(VENV)/.dev
	$(BIN)/python bench/mutants.py $(if $(AREA),--area $(AREA)) --seed $(or $(SEED),0)

clean:
	rm -rf $(VENV) demo dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
