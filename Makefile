# Everything on a fresh machine: Python 3.11 to 3.13, make, and a package registry.
#
#   make gate [RIG=NAME] [ARGS="OPTIONS"]   the main job: is speculation still worth it, and has anything become slower?
#                          ARGS go on to pytest: make gate ARGS="--wait-for-lease 240" waits for another gate
#   make test              lint aside, everything that is quick, the real CPU server included
#   make test-all          the rest too
#   make lint              ruff and mypy
#   make docs              the documentation as a site, in site/; a link that leads nowhere fails
#   make gpu-bundle        all that an offline GPU host needs, in .gpu-host: docs/gpu-host.md
#   make gpu-collect FROM=DIR   what came back from there, into reports/gpu-host
#   make sim-baselines     measure and store the simulated box's baselines anew: a quiet half hour
#
# make itself always exits 2 when a recipe fails; the gate's own exit code stands in make's last line, as `Error 13`.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
# Some images forbid byte code; a gate starts Python many times, and would compile tokgate each time.
unexport PYTHONDONTWRITEBYTECODE

USABLE := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	$$p -c '$(USABLE)' 2>/dev/null && echo $$p && break; done)
NEEDS_PYTHON = $(PYTHON) -c '$(USABLE)' 2>/dev/null || { \
	echo "make: tried: run '$(PYTHON)' as Python 3.11, 3.12 or 3.13" >&2; \
	echo "      found: it is not, or there is none on this machine" >&2; \
	echo "      do:    install one, or name it: make PYTHON=/path/to/python3 $(MAKECMDGOALS)" >&2; exit 1; }
VENV := .venv/bin/python
DEFAULT_RIG := $(shell sed -n 's/^default_rig = "\(.*\)"$$/\1/p' pyproject.toml)
RIG ?= $(DEFAULT_RIG)
# What a rig needs to be built here; the other rigs' servers are installed where they run.
BUILT_FOR_RIG := $(if $(findstring sglang-cpu,$(RIG)),sglang-cpu)

# When a recipe fails make has the last word, and no option takes it away: "make: *** [Makefile:LINE: TARGET] Error 10". The code
# in it is the gate's own, and the target's name is what there is to say below the gate's own last words.
GATE := what\ to\ do\ next\ stands\ above

.PHONY: help venv system-packages sglang-cpu gate $(GATE) test test-all lint docs clean ready-for-tests sim-baselines gpu-bundle gpu-collect

help:
	@sed -n '3,11s/^# *//p' Makefile

venv: .venv/stamp
	@:

.venv/stamp: pyproject.toml
	@$(NEEDS_PYTHON); rm -f .venv/stamp; \
	$(VENV) -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear .venv; \
	echo "venv       [  0.0 s] installing tokgate and what its tests need: one or two minutes"; \
	$(VENV) -m pip install -qq --no-input --disable-pip-version-check --progress-bar off -e '.[dev]'; \
	touch .venv/stamp; \
	echo "venv       [$$(printf '%3d' $$SECONDS).0 s] ready in .venv"

system-packages:
	@.ci/system-packages

sglang-cpu:
	@$(NEEDS_PYTHON); $(PYTHON) rigs/sglang-cpu/build.py

gate: $(GATE)

$(GATE):
	@$(MAKE) -j2 venv $(BUILT_FOR_RIG)
	@rc=0; $(VENV) -m pytest perf_tests -m eagle3 --rig $(RIG) $(ARGS) || rc=$$?; \
	if [ $$rc -gt 128 ]; then echo "the gate was ended by signal $$((rc - 128))"; fi; exit $$rc

ready-for-tests:
	@$(MAKE) -j3 system-packages venv sglang-cpu

# Tests with time limits are written for two processors, and for as many workers. Those that judge times come first, alone.
WORKERS ?= 2
TESTS = rc=0; \
	$(VENV) -m pytest tests -m '$(1) and alone' --durations=20 || rc=$$?; \
	$(VENV) -m pytest tests -m '$(1) and not alone' -n $(WORKERS) --durations=20 || rc=$$?; exit $$rc

test: ready-for-tests
	@$(call TESTS,not slow and not gpu)

test-all: ready-for-tests
	@$(call TESTS,not gpu)

lint: venv
	@$(VENV) -m ruff check .
	@$(VENV) -m ruff format --check .
	@$(VENV) -m mypy

docs: venv
	@NO_MKDOCS_2_WARNING=1 $(VENV) -m mkdocs build --strict --quiet && \
		echo "docs: site/index.html; with its search: $(VENV) -m http.server --bind 127.0.0.1 --directory site"

sim-baselines: venv
	@$(VENV) rigs/sim-8gpu/store_baselines.py

BUNDLE ?= .gpu-host
SIZE_LIMIT_MIB ?= 60
HOST_PYTHON ?= 3.12
INTO ?= reports/gpu-host

gpu-bundle: venv
	@$(VENV) gpu-host/bundle.py --into $(BUNDLE) --size-limit-mib $(SIZE_LIMIT_MIB) --python $(HOST_PYTHON)

gpu-collect: venv
	@test -n "$(FROM)" || { echo "make: tried: collect what a GPU host left" >&2; echo "      found: no FROM" >&2; \
		echo "      do:    make gpu-collect FROM=the folder with what run.sh left in \$$OUT" >&2; exit 1; }
	@$(VENV) gpu-host/collect.py $(FROM) --into $(INTO) --bundle $(BUNDLE)

clean:
	rm -rf .venv .sglang-cpu .gpu-host .peers .simbox .mypy_cache .ruff_cache .pytest_cache .benchmarks build dist site *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
