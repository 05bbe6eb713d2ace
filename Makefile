# Everything sets itself up: `make run` and `make test` are enough on a machine with Python 3.11, git and make.
PYTHON ?= python3
BIN = .venv/bin
COMPILE = $(BIN)/uv pip compile -q --no-header --no-emit-find-links --python-version 3.11
ADDRESS ?= 127.0.0.1:8000
SITE ?= var/site

.PHONY: release demo-bundle run test test-changed test-everything faults guide check setup bench screenshots example requirements docs clean

run: .venv/ready
	@$(BIN)/python -m tools.translations
	@exec $(BIN)/python manage.py demo --bind $(ADDRESS)

test: .venv/dev
	@PYTHON=$(BIN)/python sh tests/run.sh

# What the changes since BASE (main) concern, nearest first: an answer in seconds, and no substitute for `make test`.
test-changed: .venv/dev
	@files=$$($(BIN)/python -m tests.changed) && [ -n "$$files" ] || { echo "No test imports what changed."; exit 0; } && \
	  REELJUDGE_HOME=$(CURDIR)/var/test PYTHON=$(BIN)/python sh tests/services.sh $(BIN)/python -m pytest -q -x $$files

test-everything: .venv/dev
	@PYTHON=$(BIN)/python sh tests/run.sh everything

faults: .venv/dev
	@REELJUDGE_HOME=$(CURDIR)/var/test PYTHON=$(BIN)/python sh tests/services.sh env -u DATABASE_URL -u REDIS_URL $(BIN)/python -m pytest -q -m "long or fault or hypothesis" --hypothesis-profile=long

guide: .venv/dev
	@REELJUDGE_HOME=var/test PYTHON=$(BIN)/python sh tests/services.sh $(BIN)/python -m pytest -q -m long tests/operations/guide

check: setup .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy .
	$(BIN)/lint-imports
	$(BIN)/python manage.py makemigrations --check --dry-run
	HTTPS=on $(BIN)/python -W error manage.py check --deploy --fail-level WARNING

setup: .venv/ready
	@$(BIN)/python manage.py migrate -v0
	@$(BIN)/python manage.py collectstatic -v0 --noinput
	@$(BIN)/python -m tools.translations

.venv/ready: requirements.txt
	@echo "Installing what Reeljudge needs (a few minutes, once) …"
	@PYTHON=$(PYTHON) sh tests/venv.sh
	@$(BIN)/python -m pip install -q --disable-pip-version-check -r requirements.txt
	@touch $@

.venv/dev: requirements-dev.txt .venv/ready
	@$(BIN)/python -m pip install -q --disable-pip-version-check -r requirements.txt -r requirements-dev.txt
	@touch $@

bench: setup .venv/dev
	@PYTHON=$(BIN)/python sh tests/services.sh $(BIN)/python -m benchmarks

screenshots: setup .venv/dev
	@PYTHON=$(BIN)/python sh tests/services.sh $(BIN)/python -m tests.screenshots docs/images
	@PYTHON=$(BIN)/python sh tests/services.sh $(BIN)/python -m tests.making_pictures var/screenshots

# The small collection that is installed with the library, and the outputs of the notebook that shows it.
example: .venv/dev
	@$(BIN)/python -m tests.making_example metrics/example
	@$(BIN)/python -m tests.metrics.notebooks docs/quickstart/first_minutes.ipynb

# The prepared demo, which opens in some seconds. Make it anew when tables, films or the demo's systems have changed.
demo-bundle: .venv/ready
	@$(BIN)/python -m tools.demo_bundle

docs: .venv/dev
	@$(BIN)/python -m sphinx -q -W --keep-going -c docs/site . $(SITE)
	@echo "The documents are in $(SITE)/index.html."

# What is pinned for a checkout, for its tests, and with hashes for what is installed from a wheel. torch has no hash: its
# builds for processors and for graphics cards have the same version.
requirements: .venv/dev
	$(COMPILE) --extra worker pyproject.toml | sed 's/+cpu$$//' > requirements.txt
	$(COMPILE) requirements-dev.in | sed 's/+cpu$$//' > requirements-dev.txt
	$(COMPILE) --no-annotate --universal --generate-hashes --extra server -c requirements.txt pyproject.toml > deploy/requirements/server.txt
	$(COMPILE) --no-annotate --no-deps --generate-hashes --no-emit-package torch requirements.txt > deploy/requirements/worker.txt

release: .venv/dev
	@$(BIN)/python -m tests.release

clean:
	rm -rf .venv var
