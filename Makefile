# What people run. Needs Python 3.11 or newer, make and a C compiler; everything else goes into .venv.
#
#   make PYTHON=python3.12 demo     chooses the Python of .venv

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
# pip would compile 15,000 Python files of the dependencies, one after the other; Python compiles those that are imported, and
# keeps what it made, whatever the shell says: some hundred processes of the tests import PyTorch.
export PYTHONPYCACHEPREFIX = $(abspath $(VENV))/bytecode
unexport PYTHONDONTWRITEBYTECODE
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
# What the package is built from: a change of any of them installs it anew.
SOURCES = pyproject.toml CMakeLists.txt $(shell find cmake crlibm include src python examples/python -type f \
	! -name '*.pyc' ! -name '*.md' ! -name '.*' 2>/dev/null)

.PHONY: help demo study test test-long asan tsan fuzz platforms test-exhaustive test-opinfo oracle proofs test-cuda gpu-check gpu-gate bench bench-table sweep docs lint format stubs clean
.DEFAULT_GOAL := help

help:
	@echo "make demo             train networks with repmath in NumPy, PyTorch and JAX on several instruction sets; compare the bits"
	@echo "make study            measure numerical variability (docs/studies.md), into out/study"
	@echo "make test             run the tests; make test T=tests/python/test_einsum.py runs one file, and T takes all that pytest does:"
	@echo "                      files, folders, options: make test T='tests/nn -k softmax -x'"
	@echo "make test-long        run all tests: long ones too, and all cases of those of which make test runs a sample (more than an hour)"
	@echo "make asan             run the C tests under AddressSanitizer and UndefinedBehaviorSanitizer (a preset of CMakePresets.json)"
	@echo "make tsan             run the C tests under ThreadSanitizer"
	@echo "make fuzz             attack the library for a while: make fuzz SECONDS=600"
	@echo "make platforms        build the library for Windows, macOS and musl and by clang, and run what can be run here, sanitizers and nvcc too (needs gcc-mingw-w64-x86-64-posix,"
	@echo "                      wine64, musl-tools, and PyPI's ziglang and auditwheel; what is missing is skipped)"
	@echo "make test-exhaustive  run every input of each 32-bit function (minutes)"
	@echo "make test-opinfo      compare the bits of many samples of PyTorch's operators between instruction sets (minutes)"
	@echo "make oracle           compare every input of each 32-bit function of one argument with an independent oracle (an hour)"
	@echo "make proofs           prove the error bounds of the kernels and write the certificates and docs/evidence.md (up to an hour)"
	@echo "make test-cuda        compare a GPU's bits with the CPU's and with the golden digests (needs nvcc and a GPU)"
	@echo "make gpu-check        check a GPU's bits, memory accesses and times; a report in out/gpu (needs nvcc, a GPU and PyTorch for CUDA)"
	@echo "make gpu-gate         compile the GPU's kernels and hold their stacks and spills to limits (needs nvcc, minutes)"
	@echo "make bench            measure against NumPy, SciPy and PyTorch; results in bench/results"
	@echo "make bench-table      write the measured tables into README.md and docs/performance.md"
	@echo "make sweep            measure every operator, kind of value, array function and model beside the others' (hours; it goes on where"
	@echo "                      it was stopped): make sweep SWEEP='--quick --only attention'; python -m bench.sweep --help has the options"
	@echo "make docs             build the site of the pages of docs/ and of the docstrings in build/docs; a warning is an error"
	@echo "make lint             ruff, mypy, clang-format, generated files"
	@echo "make format           lay out C, C++ and CUDA by clang-format, Python by ruff"
	@echo "make stubs            write the generated type stubs"
	@echo "make clean            remove what the other targets made"
	@echo
	@echo "PYTHON=$(PYTHON) (3.11 or newer) makes the environment $(VENV)."

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || \
	  { echo "make: there is no '$(PYTHON)'; give a Python 3.11 or newer: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "make: $(PYTHON) is $$($(PYTHON) -V 2>&1), repmath needs 3.11 or newer: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo "make: $(PYTHON) has no venv module (on Debian and Ubuntu: the package python3-venv)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# The demo runs on the GPU too, where there are one and nvcc.
CUDA_demo = --config-settings=cmake.define.REPMATH_CUDA=AUTO --config-settings=cmake.define.CMAKE_CUDA_ARCHITECTURES=native

# One stamp a set of extras: pip runs when the sources or the extras changed. The package is built without pip's isolation, in
# the folder in which the tests build what else they need of the C library: each of its files is compiled once.
$(VENV)/%.stamp: $(BIN)/python $(SOURCES)
	@$${CC:-cc} --version >/dev/null 2>&1 || \
	  { echo "make: there is no C compiler ('$${CC:-cc}'); install gcc or clang, or set CC" >&2; exit 1; }
	@$(BIN)/python -c 'import tomllib; \
	  print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], "cmake", "ninja", sep="\n")' >$(VENV)/build.txt
	$(PIP) -r $(VENV)/build.txt
	$(PIP) --no-build-isolation --config-settings=build-dir=build/native/default $(CUDA_$*) ".[$*]"
	@touch $@

demo: $(VENV)/demo.stamp
	$(BIN)/python -m repmath demo --output out

# The studies of docs/studies.md, into out/study: some minutes on two cores.
study: $(VENV)/demo.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check scipy
	$(BIN)/python -m repmath study order --n 32 --out out/study/order
	$(BIN)/python -m repmath study warden --out out/study/warden
	$(BIN)/python -m repmath study harmonic --samples 64 --out out/study/harmonic
	$(BIN)/python -m repmath study cost python/repmath/study/example.py:step --out out/study/cost
	$(BIN)/python -m repmath study variability python/repmath/study/example.py:step --samples 30 --out out/study/variability
	$(BIN)/python -m repmath study localize python/repmath/study/example.py:step --out out/study/localize
	$(BIN)/python -m repmath study arms python/repmath/study/example.py:train --runs 8 --out out/study/arms
	$(BIN)/python -m repmath study arms python/repmath/study/networks.py:digits --runs 4 --out out/study/digits
	$(BIN)/python -m repmath study arms python/repmath/study/networks.py:tabular --runs 4 --out out/study/tabular
	$(BIN)/python -m repmath study arms python/repmath/study/networks.py:gpt2 --runs 2 --out out/study/gpt2
	$(BIN)/python -m repmath study variability python/repmath/study/networks.py:step --samples 8 --out out/study/gpt2-digits
	$(BIN)/python -m repmath study cost python/repmath/study/networks.py:step --out out/study/gpt2-cost

test: $(VENV)/test.stamp
	$(BIN)/python -m pytest $(if $(T),$(T),--quick -n auto --dist loadfile --durations 30 --durations-min 5)

test-long: $(VENV)/test.stamp
	$(BIN)/python -m pytest -n auto --dist loadfile

# By the presets of these names, in build/native: cmake and ninja come from wheels.
asan tsan: | $(BIN)/ninja
	export PATH="$(abspath $(BIN)):$$PATH"; cmake --preset $@ && cmake --build --preset $@ && ctest --preset $@

$(BIN)/ninja: | $(BIN)/python
	$(PIP) cmake ninja

SECONDS ?= 600
fuzz: $(VENV)/test.stamp
	REPMATH_FUZZ_SECONDS=$(SECONDS) $(BIN)/python -m pytest -s tests/adversarial

platforms: $(VENV)/test.stamp
	REPMATH_PLATFORMS=1 $(BIN)/python -m pytest -v tests/packaging/test_platforms.py tests/packaging/test_cross_compilers.py \
	  tests/packaging/test_cross_aarch64.py tests/packaging/test_sanitizers.py tests/cuda/test_emulated.py

test-exhaustive: $(VENV)/test.stamp
	REPMATH_EXHAUSTIVE=1 $(BIN)/python -m pytest -m exhaustive
	$(BIN)/python -m repmath verify --all

test-opinfo: $(VENV)/test.stamp
	REPMATH_OPINFO_SAMPLES=48 $(BIN)/python -m pytest -s tests/torch/test_opinfo_isas.py

oracle: $(VENV)/proofs.stamp
	$(BIN)/python -m proofs.oracle
	$(BIN)/python -m proofs.run --table

proofs: $(VENV)/proofs.stamp
	$(BIN)/python -m proofs.everything

test-cuda: $(VENV)/test.stamp
	$(BIN)/python tests/cuda/run.py

gpu-check: $(VENV)/test.stamp
	$(BIN)/python tools/gpu_check.py

gpu-gate:
	$(PYTHON) tools/ptxas_gate.py

bench: $(VENV)/bench.stamp
	$(BIN)/python bench/run.py
	$(BIN)/python bench/accuracy.py

bench-table:
	$(PYTHON) bench/table.py --write README.md --full docs/performance.md

SWEEP ?=
sweep: $(VENV)/bench.stamp
	$(BIN)/python -m bench.sweep $(SWEEP)

docs: $(VENV)/docs.stamp
	mkdir -p build && rm -rf build/docs-source && cp -r docs build/docs-source
	$(BIN)/python -m sphinx -q -W --keep-going -b html -c docs -d build/doctrees build/docs-source build/docs
	@echo "build/docs/index.html"

# What clang-format lays out, but for what .clang-format-ignore names.
C_FILES = $(shell find crlibm src include python tests proofs bench examples -type f \
	'(' -name '*.[ch]' -o -name '*.in[cl]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cpp' ')')

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@echo clang-format --dry-run --Werror; $(BIN)/clang-format --dry-run --Werror $(C_FILES)
	$(BIN)/mypy
	$(BIN)/python tools/gen_api.py --check
	$(BIN)/python tools/gen_stubs.py --check
	$(BIN)/python tools/gen_aten.py --check
	$(BIN)/python tools/gen_badges.py --check

format: $(VENV)/dev.stamp
	@echo clang-format -i; $(BIN)/clang-format -i $(C_FILES)
	$(BIN)/ruff format .

stubs: $(BIN)/python
	$(BIN)/python tools/gen_stubs.py

clean:
	rm -rf $(VENV) build out dist
