# Everything a newcomer or a CI machine needs; it takes Python 3.11 or newer and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help setup demo test test-docs test-shared test-torch test-clusters test-libraries test-browser test-labelling test-oldest test-newer dist reproduce-quick study faults fuzz lint format bench bench-quick bench-billion bench-clusters bench-peers docs site notebooks environments clean

help:  ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

# The package and what its reports need, for those who only want to use it.
$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[report]'
	@touch $@

# With everything that tests, lint and docs need.
$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

# By exact version: a range fetches a newer build of torch, with gigabytes of CUDA packages.
$(VENV)/installed-torch: $(VENV)/installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0 triton==3.9.0 safetensors==0.8.0
	@touch $@

setup: $(VENV)/installed-dev  ## make .venv with the package and all development tools

demo: $(VENV)/installed  ## pick a batch from data that ships inside scikit-learn, into demo/
	$(BIN)/minmargin demo --out demo

# Tests of one file stay together in one process, which shares their fixtures, until another has nothing left to do.
PARALLEL := --numprocesses auto --dist worksteal
# Each process has a core to itself. Threads that libraries start for all cores, in each of them, would mostly wait for each
# other: OpenBLAS starts none, and those of OpenMP sleep while they wait. (One thread of OpenMP would be one of Arrow, too.)
test test-docs test-torch: export OPENBLAS_NUM_THREADS = 1
test test-docs test-torch: export OMP_WAIT_POLICY = passive
# What runs as it stands on the pages takes as long as users wait for it, and goes by itself.
PAGES := README.md CONTRIBUTING.md docs tests/docs/test_blocks.py

# To count what is covered takes half as long again: CI asks for it, with COVERAGE=95.
test: $(VENV)/installed-dev  ## run all tests, and the examples in docstrings; COVERAGE=95 fails below 95% coverage
	$(BIN)/python -m pytest $(PARALLEL) tests src --ignore=tests/docs/test_blocks.py \
		$(if $(COVERAGE),--cov --cov-report=term-missing --cov-fail-under=$(COVERAGE))

test-docs: $(VENV)/installed-dev  ## run every example and command of README, CONTRIBUTING and docs
	$(BIN)/python -m pytest $(PARALLEL) $(PAGES)

test-shared: $(VENV)/installed-dev  ## run the tests on real data, which lies in ../shared/data on the developers' machines
	$(BIN)/python -m pytest -m shared tests

# What needs torch, or might import it too early. Without a GPU, Triton's interpreter runs the kernels.
TORCH_TESTS := tests/compute/gpu tests/compute/networks tests/learners/networks tests/learners/test_mlp.py tests/learners/test_module.py \
	tests/learners/test_module_errors.py tests/learners/test_named_inputs.py tests/property/test_network_screens.py tests/strategies/test_greedy_device.py \
	tests/test_device.py tests/data/test_torch_data.py tests/bad_input/test_odd_values.py tests/pools/test_exclude.py::test_networks tests/compare/test_compare.py tests/compare/test_game.py \
	tests/experiments/paper/test_run.py tests/experiments/study/test_running.py tests/committee/storage/test_torch_learners.py tests/committee/storage/test_modules.py tests/committee/storage/test_state_dicts.py tests/contract/test_network_learners.py \
	tests/test_package.py::test_importing_the_package_loads_no_optional_library_until_a_name_needs_it docs/networks.md docs/howto/transformers.md \
	src/minmargin/compute/gpu src/minmargin/compute/networks src/minmargin/learners/networks
TORCH_CODE := src/minmargin/committee/storage/modules.py,src/minmargin/committee/storage/state_dicts.py,src/minmargin/compute/gpu/*,src/minmargin/compute/networks/*,src/minmargin/learners/networks/*,src/minmargin/learners/m*.py

test-torch: $(VENV)/installed-torch  ## install torch and run the tests that need it; fails below 95% coverage of networks
	$(BIN)/python -m pytest $(PARALLEL) --cov --cov-report= $(TORCH_TESTS)
	$(BIN)/coverage report --include='$(TORCH_CODE)' --omit=nothing --fail-under=95

# Clusters want libraries of their own age, and hundreds of megabytes of them: an environment of its own.
.venv-clusters/installed: pyproject.toml
	$(PYTHON) -m venv .venv-clusters
	.venv-clusters/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dask,ray,spark]' \
		hypothesis 'pandas<3' psutil pytest
	@touch $@

test-clusters: .venv-clusters/installed  ## run the tests of engines on real Dask, Ray and Spark clusters (needs Java)
	.venv-clusters/bin/python -m pytest tests/clusters -p no:cacheprovider -W default

# What people bring to this package and it never imports: hundreds of megabytes, for a minute of tests.
.venv-libraries/installed: pyproject.toml
	$(PYTHON) -m venv .venv-libraries
	.venv-libraries/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[libraries]' hypothesis pytest
	@touch $@

test-libraries: .venv-libraries/installed  ## run the tests with XGBoost, LightGBM, CatBoost, Delta and Lance
	.venv-libraries/bin/python -m pytest tests/libraries -p no:cacheprovider -W default

# Whatever makes pages or looks at them: reports in a browser, Label Studio's pages, the site and the notebooks.
# Playwright drives the system's Chromium (apt-get install chromium); its own download is not needed.
.venv-pages/installed: pyproject.toml
	$(PYTHON) -m venv .venv-pages
	.venv-pages/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]' \
		httpx hypothesis playwright pytest
	@touch $@

test-browser: .venv-pages/installed  ## open the reports in a real browser (needs Chromium)
	.venv-pages/bin/python -m pytest tests/browser -p no:cacheprovider

# Label Studio's server wants libraries of its own versions: an environment of its own, by exact version.
LABEL_STUDIO := 1.23.2
.venv-label-studio/installed-$(LABEL_STUDIO):
	$(PYTHON) -m venv .venv-label-studio
	.venv-label-studio/bin/python -m pip install --quiet --disable-pip-version-check label-studio==$(LABEL_STUDIO)
	@touch $@

test-labelling: .venv-label-studio/installed-$(LABEL_STUDIO) .venv-pages/installed  ## push to and pull from a real Label Studio (needs Chromium)
	.venv-pages/bin/python -m pytest tests/labelling -p no:cacheprovider

# The oldest versions of all that pyproject.toml names, which uv can find and pip cannot. They warn of what others have
# changed since.
.venv-oldest/installed: pyproject.toml
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check uv
	.venv-oldest/bin/uv pip install --quiet --python .venv-oldest/bin/python --resolution lowest-direct --editable '.[dev]'
	@touch $@

# What leans most on libraries: whatever reads, writes, shows and scores.
EDGES := tests/batch tests/bad_input tests/cli tests/committee tests/data tests/inspection tests/pools tests/report tests/scan

test-oldest: .venv-oldest/installed  ## run tests with the oldest versions of libraries that are allowed
	.venv-oldest/bin/python -m pytest $(PARALLEL) -p no:cacheprovider -W ignore::DeprecationWarning $(EDGES)

# The newest Python that is on this machine beside the usual one.
.venv-newer/installed: pyproject.toml
	$$(bash .ci/newer-python) -m venv .venv-newer
	.venv-newer/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

# What Python itself may change: processes, threads, warnings, dates, texts. About a minute on two cores.
NEWER := tests/bad_input tests/batch tests/data tests/inspection tests/scan tests/test_execution.py tests/test_processes.py tests/test_properties.py tests/test_systems.py

test-newer: .venv-newer/installed  ## run tests with the newest Python on this machine
	.venv-newer/bin/python -m pytest $(PARALLEL) -p no:cacheprovider $(NEWER)

.venv-dist/installed: pyproject.toml
	$(PYTHON) -m venv .venv-dist
	.venv-dist/bin/python -m pip install --quiet --disable-pip-version-check build twine
	@touch $@

dist: .venv-dist/installed  ## build sdist and wheel into dist/, check them, and run the demo from the wheel by itself
	rm -rf dist build/wheel
	.venv-dist/bin/python -m build --outdir dist
	.venv-dist/bin/python -m twine check --strict dist/*
	$(PYTHON) -m venv build/wheel
	build/wheel/bin/python -m pip install --quiet --disable-pip-version-check "$$(ls dist/*.whl)[report]"
	cd build && wheel/bin/minmargin demo --out wheel/demo

reproduce-quick: $(VENV)/installed-torch  ## run every experiment of the paper on small data, into build/reproduced
	$(BIN)/minmargin reproduce --quick all --out build/reproduced

# In parts on disk: what was played already is not played again.
study: $(VENV)/installed-torch  ## play every strategy on real problems, and write docs/study.md (hours; needs the data sets)
	$(BIN)/minmargin study --pack
	$(BIN)/minmargin study --out study/results
	$(BIN)/python docs/write_study.py

faults: $(VENV)/installed-dev  ## try every fault for real, and write docs/reliability.md (about ten minutes)
	$(BIN)/python tests/faults/run.py --out docs/reliability.md

# In parts, if need be: `tests/fuzz/run.py --only campaign --page docs/reliability.md` keeps the figures of the others.
fuzz: $(VENV)/installed-dev  ## change files and answers 20,000 times, and write what came of it (about ten minutes)
	$(BIN)/python tests/fuzz/servers.py --json tests/fuzz/figures/servers.json
	$(BIN)/python tests/fuzz/run.py --each 900 --page docs/reliability.md

lint: $(VENV)/installed-dev  ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/installed-dev  ## mend style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# What `make bench` runs, in this order; each is described in benchmarks/README.md.
BENCHMARKS := score strategies fit solver choose_c networks parquet topb scaling memory bounds spread peers import_time

# Results are kept in a folder called by the processor; MACHINE=NAME names another.
bench: $(VENV)/installed-torch  ## measure speed and memory as ratios, keep the results, and write the pages that quote them (many minutes)
	rm -rf build/bench
	for name in $(BENCHMARKS); do $(BIN)/python benchmarks/$$name.py --json build/bench/$$name.json || exit 1; done
	$(BIN)/python benchmarks/history.py keep build/bench $(if $(MACHINE),--machine $(MACHINE))
	$(BIN)/python benchmarks/write_page.py
	$(BIN)/python docs/write_figures.py

bench-quick: $(VENV)/installed-torch  ## run every benchmark on small sizes, in about two minutes
	for name in $(BENCHMARKS); do $(BIN)/python benchmarks/$$name.py --quick || exit 1; done

bench-billion: $(VENV)/installed-dev  ## select from a billion rows, and from 13 GB of Parquet, beside an oracle (half an hour)
	$(BIN)/python benchmarks/billion.py --json build/bench/billion.json

bench-clusters: .venv-clusters/installed  ## measure Dask, Ray and Spark, and check the model of large clusters (needs Java)
	rm -rf build/bench-clusters
	.venv-clusters/bin/python benchmarks/engines.py --json build/bench-clusters/engines.json
	.venv-clusters/bin/python benchmarks/cluster_model.py --measured build/bench-clusters/engines.json \
		--json build/bench-clusters/cluster_model.json
	.venv-clusters/bin/python benchmarks/history.py keep build/bench-clusters $(if $(MACHINE),--machine $(MACHINE))
	.venv-clusters/bin/python docs/write_figures.py

# In cells on disk, in build/peers: what is there is not played again. Nothing else should be at work while seconds are measured.
bench-peers: $(VENV)/installed-dev  ## compare what other libraries pick, and write it into docs/benchmarks.md (hours; needs the data sets)
	$(BIN)/minmargin study --pack
	$(BIN)/python benchmarks/peer_picks.py --json build/bench-peers/peer_picks.json
	$(BIN)/python benchmarks/history.py keep build/bench-peers $(if $(MACHINE),--machine $(MACHINE))
	$(BIN)/python benchmarks/write_page.py
	$(BIN)/python docs/write_figures.py

docs: $(VENV)/installed-dev  ## draw the pictures, and write the help pages and all that pages show of results anew
	$(BIN)/python docs/draw_pictures.py
	$(BIN)/python docs/write_help.py
	$(BIN)/python docs/write_paper.py
	$(BIN)/python docs/write_study.py
	$(BIN)/python docs/write_published.py
	$(BIN)/python benchmarks/write_rare_classes.py
	$(BIN)/python benchmarks/write_page.py
	$(BIN)/python docs/write_figures.py

site: .venv-pages/installed  ## build the documentation site into build/site; fails at any warning
	NO_MKDOCS_2_WARNING=1 .venv-pages/bin/mkdocs build --quiet --strict

notebooks: .venv-pages/installed  ## test what IPython shows, and run the notebooks in examples/ anew; fails if one raises an error
	.venv-pages/bin/python -m pytest tests/notebooks -p no:cacheprovider
	.venv-pages/bin/python examples/run.py

# Every environment but .venv, for who wants them before the tests that need them.
environments: .venv-clusters/installed .venv-libraries/installed .venv-pages/installed .venv-oldest/installed .venv-dist/installed .venv-label-studio/installed-$(LABEL_STUDIO)

clean:  ## remove what make made
	rm -rf $(VENV) .venv-clusters .venv-libraries .venv-pages .venv-oldest .venv-newer .venv-dist .venv-label-studio .bench-venv demo build dist .coverage* .hypothesis .mypy_cache .pytest_cache .ruff_cache
