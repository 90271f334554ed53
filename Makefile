# make demo: set-up, then the main job on real data.   make test: set-up, then all tests.
PYTHON ?= python3.11
VENV ?= .venv
PY := $(VENV)/bin/python
BUILD := build/$(notdir $(PYTHON))
JOBS := $(shell nproc)
APT := ccache cmake ninja-build g++ libasmjit-dev libabsl-dev libeigen3-dev
APT_test := libgtest-dev libopenmpi-dev openmpi-bin iproute2
APT_lint := clang-format
SUDO := $(shell test "$$(id -u)" = 0 || echo sudo)
export PYTHONPATH := $(CURDIR)
# The tests start hundreds of processes: none compiles again what the one before it has compiled.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: all deps deps-test deps-lint build build-tests extension tests cuda demo demo-of-sources demo-of-wheel test test-cpp test-once test-serial \
  test-alias test-kernels test-all test-mindspore pythons slice test-all-pythons test-asan test-tsan test-wheel test-clean-root test-scripts test-memory test-linear replay replay-before fuzz fuzz-memory fuzz-files test-cpython test-numpy test-emulated \
  test-cuda test-cuda-sanitizer bench-cuda bench-cuda-host gpu-kit onednn wheels tag wheel-cuda test-ulp test-browser examples api bench \
  bench-models bench-inference bench-training bench-generation bench-functions bench-figures bench-scripts bench-tutorials bench-versions lint clean venv-build venv-demo venv-test venv-dev
all: build

# What the system must have, for the extension (deps), its tests (deps-test), lint (deps-lint).
deps:
	@$(call installed,$(APT))
deps-test:
	@$(call installed,$(APT) $(APT_test))
deps-lint:
	@$(call installed,$(APT) $(APT_test) $(APT_lint))
define installed
missing=; for p in $(1); do dpkg -s $$p >/dev/null 2>&1 || missing="$$missing $$p"; done; \
if [ -n "$$missing" ]; then $(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq --no-install-recommends $$missing; fi
endef

# An environment for Python, with the packages of requirements/<purpose>.txt.
venv-build venv-demo venv-test venv-dev venv-docs: venv-%: $(VENV)/.ready-%
$(VENV)/.ready-%: $(wildcard requirements/*.txt)
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install -q --disable-pip-version-check -r requirements/$*.txt
	@touch $@
# One pip at a time.
$(VENV)/.ready-demo $(VENV)/.ready-test $(VENV)/.ready-dev $(VENV)/.ready-docs: | $(VENV)/.ready-build

CONFIGURE = cmake -DPython_EXECUTABLE=$(CURDIR)/$(PY) --preset
BESIDE := +$(MAKE) --no-print-directory -j2

# The extension alone; with the C++ tests and the plug-in. Downloads of packages run beside one another and the compiler.
build:
	$(BESIDE) deps venv-build
	$(BESIDE) extension venv-demo
build-tests:
	$(BESIDE) deps-test venv-build
	$(BESIDE) tests venv-test
extension:
	$(CONFIGURE) demo -B $(BUILD) >/dev/null
	cmake --build $(BUILD) -j $(JOBS) --target extension
tests:
	$(CONFIGURE) dev -B $(BUILD) >/dev/null
	cmake --build $(BUILD) -j $(JOBS) --target extension tests

# The plug-in for NVIDIA's GPUs, beside the extension module.
cuda: build
	cmake --build $(BUILD) -j $(JOBS) --target pijit_cuda
	cp $(BUILD)/libpijit_cuda.so pijit/

# Where dist/ has a wheel for this Python, that is installed, and runs away from the sources.
TAG := $(subst .,,$(patsubst python%,cp%,$(notdir $(PYTHON))))
WHEEL := $(lastword $(sort $(wildcard dist/pijit-*-$(TAG)-*.whl)))
demo: $(if $(WHEEL),demo-of-wheel,demo-of-sources)
demo-of-sources: build
	$(PY) -m demo
demo-of-wheel: IN := build/demo-$(TAG)
demo-of-wheel:
	test -x $(IN)/bin/python || $(PYTHON) -m venv $(IN)
	$(IN)/bin/pip install -q --disable-pip-version-check --force-reinstall --no-deps $(WHEEL)
	$(IN)/bin/pip install -q --disable-pip-version-check $(WHEEL) -r requirements/demo.txt
	cp demo.py $(IN)/ && cd $(IN) && env -u PYTHONPATH bin/python demo.py && cp demo.png $(CURDIR)

PYTEST := PIJIT_STRICT=1 $(PY) -m pytest -q
WORKERS := -n $(JOBS) --dist loadfile --no-loadscope-reorder  # long files are early ones by their names
# With two threads, as the kernels of most machines run.
DEFAULT := OMP_NUM_THREADS=2
AVX2 := PIJIT_ISA=avx2 ONEDNN_MAX_CPU_ISA=AVX2 PIJIT_TILE_BYTES=64 PIJIT_CACHE_BYTES=64 OMP_NUM_THREADS=2
NO_CODE := PIJIT_ISA=none ONEDNN_MAX_CPU_ISA=SSE41
REFERENCE := PIJIT_BACKEND=reference

# Every test once, what depends on kernels with each set of them, and some tests as programs for MindSpore.
test: build-tests
	$(BESIDE) test-cpp test-once
	+$(MAKE) --no-print-directory test-serial test-alias test-kernels
test-cpp:
	$(BUILD)/core_tests --gtest_brief=1
	! test -x $(BUILD)/capture_tests || PYTHONHOME=$$($(PY) -c 'import sys; print(sys.base_prefix)') \
	  PYTHONPATH=$$($(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))') $(BUILD)/capture_tests --gtest_brief=1
test-once:
	$(PYTEST) $(WORKERS) -m "not kernels and not serial" --durations=25
test-serial:
	$(PYTEST) -m "serial and not kernels" --durations=5
test-alias:
	PIJIT_TEST_AS=mindspore $(PYTEST) $(WORKERS) -m "alias and not serial"
test-kernels:
	set -e; for kernels in "$(DEFAULT)" "$(AVX2)" "$(NO_CODE)" "$(REFERENCE)"; do echo "$$kernels"; \
	  env $$kernels $(PYTEST) $(WORKERS) -m "kernels and not serial" --durations=10; \
	  env $$kernels $(PYTEST) -m "kernels and serial"; done

# All tests in all of these ways.
test-all: build-tests test-cpp
	set -e; for way in "$(DEFAULT)" PIJIT_TEST_AS=mindspore "$(AVX2)" "$(NO_CODE)" "$(REFERENCE)"; do echo "$$way"; \
	  env $$way $(PYTEST) $(WORKERS) -m "not serial"; env $$way $(PYTEST) -m serial; done

# The same sources for another CPython (`make test-python3.13`, or with PYTHON=path of one), in an environment of its own.
test-python3.% slice-python3.%: target = $(firstword $(subst -, ,$@))
test-python3.% slice-python3.%:
	@test "$(PYTHON)" != python3.11 || test -n "$$(tools/find_python.sh 3.$*)" || $(MAKE) pythons PYTHONS=3.$*
	$(MAKE) $(target) VENV=.venv3$* BUILD=build/python3.$* PYTHON=$(if $(filter-out python3.11,$(PYTHON)),$(PYTHON),$$(tools/find_python.sh 3.$*))
# The tests that depend on the interpreter most: what a version that is not the first to be tried must pass at each change.
slice: build venv-test
	$(PYTEST) $(WORKERS) -m "versions and not serial"
	$(PYTEST) -m "versions and serial"
# All versions: the whole of the tests on two of them, the slice on the others.
test-all-pythons:
	$(MAKE) test
	$(MAKE) test-python3.14
	set -e; for v in 9 10 12 13 15; do $(MAKE) slice-python3.$$v; done
# Debian's newest CPythons, unpacked into build/pythons: their newest patch releases, whatever the system has.
PYTHONS ?= 3.13 3.14 3.15
pythons:
	tools/pythons.sh build/pythons $(PYTHONS)

# The examples of MindSpore's docstrings, there and here; MindSpore, in an environment of its own, and its answers are kept in build/mindspore.
# `make test-mindspore-python3.9` and the like: on another CPython that MindSpore is built for, too.
test-mindspore: build venv-test $(BUILD)/mindspore/.ready
	$(PY) tests/mindspore/doc_examples.py $(BUILD)/mindspore/bin/python $(BUILD)/mindspore/doc_examples --floor 98 $(EXAMPLES)
	$(PY) tests/mindspore/exchange.py $(BUILD)/mindspore/bin/python $(BUILD)/mindspore/exchange
	$(PY) tests/mindspore/networks.py $(BUILD)/mindspore/bin/python $(BUILD)/mindspore/networks
	$(PY) tests/mindspore/sets.py $(BUILD)/mindspore/bin/python $(BUILD)/mindspore/sets
	$(PY) tests/mindspore/audio.py $(BUILD)/mindspore/bin/python
$(BUILD)/mindspore/.ready: requirements/mindspore.txt
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install -q --disable-pip-version-check -r $<
	@touch $@
test-mindspore-python3.%:
	$(MAKE) test-mindspore VENV=.venv3$* BUILD=build/python3.$* PYTHON=$$(tools/find_python.sh 3.$*)

test-asan: SANITIZED := UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
test-asan: deps-test venv-test
	$(CONFIGURE) asan >/dev/null
	cmake --build build/asan -j $(JOBS) --target extension core_tests
	$(SANITIZED) build/asan/core_tests --gtest_brief=1
	rm -rf build/asan/run && mkdir -p build/asan/run && git ls-files -z | xargs -0 cp --parents -t build/asan/run && cp build/asan/pijit/_*.so build/asan/run/pijit/
	set -e; cd build/asan/run; export PYTHONPATH=$(CURDIR)/build/asan/run PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0 $(SANITIZED) PIJIT_STRICT=1 \
	  LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so) $$($(CXX) -print-file-name=libstdc++.so)"; \
	  $(CURDIR)/$(PY) -m pytest -q --capture=sys $(WORKERS) -m "not serial"; $(CURDIR)/$(PY) -m pytest -q --capture=sys -m serial

# Threads under ThreadSanitizer: its reports end the run with an error. Forked children are not for it, nor is a count of threads. This compiler's runtime
# takes no addresses but those without randomisation.
test-tsan: deps-test venv-test
	$(CONFIGURE) tsan >/dev/null
	cmake --build build/tsan -j $(JOBS) --target extension
	rm -rf build/tsan/run && mkdir -p build/tsan/run && git ls-files -z | xargs -0 cp --parents -t build/tsan/run && cp build/tsan/pijit/_*.so build/tsan/run/pijit/
	cd build/tsan/run && PYTHONPATH=$(CURDIR)/build/tsan/run PIJIT_STRICT=1 TSAN_OPTIONS="suppressions=$(CURDIR)/tests/tsan.supp exitcode=66 $$TSAN_OPTIONS" \
	  LD_PRELOAD="$$($(CXX) -print-file-name=libtsan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	  setarch -R $(CURDIR)/$(PY) -m pytest -q --capture=sys -k "not fork and not one_thread" $(addprefix tests/python/test_,threads.py gil.py interrupts.py)

# `pip install .` into an empty environment, used from another folder.
test-wheel: deps
	tools/wheels.sh build/dist $$(command -v $(PYTHON))

# All programs of tests/scripts, in each way to turn capture on.
test-scripts: build-tests
	PIJIT_ALL_SCRIPTS=1 $(PY) -m pytest -q tests/python/test_scripts.py

# What capture makes of the programs of these tests: `make replay-before`, then a change that only moves code, then `make replay`, which
# prints the entries that differ and ends with an error where there are any.
REPLAYED := $(addprefix tests/python/test_,$(addsuffix .py,branches callees calls capture collections container_values effects \
  effects_in_branches exceptions generators graph_numbers instances python_objects sets training varying views))
replay-before replay: replay%: build-tests
	rm -rf build/replay$* && mkdir -p build/replay$*
	PYTHONHASHSEED=0 PIJIT_STRICT=1 PIJIT_REPLAY=build/replay$* $(PY) -m pytest -q -p no:xdist -p no:randomly $(REPLAYED)
	test "$@" = replay-before || $(PY) tools/replay_diff.py build/replay-before build/replay

# Many generated programs: PIJIT_FUZZ of them.
fuzz: build-tests
	PIJIT_FUZZ=$${PIJIT_FUZZ:-5000} PIJIT_STRICT=1 $(PY) -m pytest -q tests/python/test_programs.py

# 100,000 random calls of all kernels, each by one thread and two, between pages without access. CALLS="--calls 1000 --only conv2d" and the like.
fuzz-memory: build-tests
	$(PY) -m tests.python.fuzz_memory --malloc $(CALLS)

# FILES (100,000 of each format) that are broken on purpose, read in 4 GiB of address space.
fuzz-files: build
	$(PY) -m tests.python.fuzz_files --files $${FILES:-100000}

# What a program holds that does something new each time, after 10**5 turns against 10**4.
test-memory: build-tests
	PIJIT_ALL_GROWTH=1 PIJIT_MEASURE=1 $(PY) -m pytest -q -rA tests/python/test_growth.py

# First training steps of networks of 1,000 Cells and more; and 160,000 ops take no more than 28 times the time of 10,000. On a machine that does nothing else.
test-linear: build-tests
	$(PY) -m tests.python.large_networks

# CPython's own tests of the standard library, its modules jitted.
test-cpython: build-tests
	PIJIT_ALL_MODULES=1 $(PY) -m pytest -q tests/python/test_stdlib.py

# NumPy's own tests, and those of scipy.special, with each test function jitted: no new failure.
test-numpy: build-tests
	set -e; for package in numpy._core numpy.lib numpy.linalg numpy.ma numpy.fft numpy.polynomial numpy.random scipy.special; do \
	  $(PY) -m tests.python.jitted_tests --jobs $(JOBS) $$package; done

# What a call costs on each CPython, in one run; those of 3.11 and of the environments that `make slice-python3.14` and the like made.
bench-versions: build
	$(PY) benchmarks/versions.py $(PY) $(wildcard .venv3*/bin/python)

# The GPU's kernels on the host, branches and loops on Tensors among them.
test-emulated: build-tests
	PIJIT_STRICT=1 PIJIT_ALL_EMULATED=1 $(PY) -m pytest -q tests/python/test_cuda_emulated.py

# Where there is an NVIDIA GPU: the same Python tests with all Tensors on it.
test-cuda: cuda venv-test
	PIJIT_STRICT=1 PIJIT_TEST_DEVICE=GPU PIJIT_CUDA_SYNC=1 $(PY) -m pytest -q

# Kernels under NVIDIA's compute-sanitizer: memory, shared memory, barriers, what was never written.
test-cuda-sanitizer: cuda venv-test
	@command -v compute-sanitizer >/dev/null || { echo "compute-sanitizer, of the CUDA toolkit, is not on PATH"; exit 1; }
	set -e; for tool in memcheck racecheck synccheck initcheck; do PIJIT_STRICT=1 PIJIT_TEST_DEVICE=GPU PIJIT_CUDA_SYNC=1 compute-sanitizer --tool $$tool \
	  --error-exitcode 1 $(PY) -m pytest -q -p no:cacheprovider $$(printf 'tests/python/test_%s.py ' ops more_ops indexed fft linalg layouts branches); done

# What a machine with a GPU, but neither compiler nor network needs to run tools/gpu/visit.sh; for its Python.
gpu-kit: cuda
	tools/gpu/kit.sh build/gpu pijit $(BUILD)/libpijit_cuda.so $(VENV)

# Programs on the GPU against PyTorch and JAX; says so where there is none.
bench-cuda: cuda
	$(PY) benchmarks/cuda.py

# What the GPU costs its host, by a driver that does nothing; no GPU is needed.
bench-cuda-host: build
	$(PY) benchmarks/cuda_host.py

# oneDNN's newest version in Debian's stable release, to be part of the extension: `PIJIT_ONEDNN=build/onednn make build BUILD=build/inside`.
onednn: deps
	tools/onednn.sh build/onednn
# A wheel for each of these CPythons that is at hand in dist/, and the sources; each wheel is tried in an empty environment.
WHEELS ?= 3.9 3.10 3.11 3.12 3.13 3.14 3.15
wheels: deps onednn
	PIJIT_ONEDNN=$(CURDIR)/build/onednn tools/wheels.sh dist $$(tools/find_python.sh $(WHEELS))
	$(PYTHON) tools/sbom.py dist/sbom.json
# All that a release needs, on a clone of this commit: version and changelog, site, links and code of its pages, examples, wheels, tests.
# tools/onednn.sh takes what it made before.
.PHONY: release-check release-steps
release-check:
	rm -rf build/release && git clone -q . build/release
	test ! -d build/onednn || { mkdir -p build/release/build && cp -a build/onednn build/release/build/; }
	+$(MAKE) --no-print-directory -C build/release release-steps
release-steps:
	+$(MAKE) --no-print-directory build docs
	+$(MAKE) --no-print-directory examples
	git checkout -q -- examples/notebooks  # tests look at those of the commit
	+$(MAKE) --no-print-directory pythons wheels
	+$(MAKE) --no-print-directory test
	$(PYTHON) tools/tag.py --check
# This commit is the release of the version in pijit/__init__.py; `tools/tag.py --check` says what is in the way of that.
tag:
	$(PY) tools/tag.py
# These wheels in a bare Debian without compiler and network: demo, a notebook, a script.
test-clean-root: wheels
	@command -v debootstrap >/dev/null || { $(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq --no-install-recommends debootstrap; }
	tools/clean_root.sh build/clean dist $$(tools/find_python.sh $(WHEELS))
# The wheel pijit-cuda13, without NVIDIA's libraries, which it depends on.
wheel-cuda: deps venv-build
	$(VENV)/bin/pip wheel -q --disable-pip-version-check --no-deps -w build/wheels packaging/cuda13

# float32 functions on all 2**32 inputs, some minutes each.
test-ulp: build venv-test
	$(PY) -m tests.python.ulp
	$(PY) -m tests.python.ulp64

# The site, into build/site; `make docs-serve` shows it, and builds again what changes. No network is needed but for pip.
.PHONY: venv-docs docs docs-serve drawings
DOCS := NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs
docs: venv-docs
	$(DOCS) build --quiet
docs-serve: venv-docs
	$(DOCS) serve
# Drawings and charts of the site.
drawings:
	$(PYTHON) tools/drawings.py

# The pages of profiles, explanations and notebooks, and the site, in a real browser; pictures of the former go to docs/. axe-core looks at the site's
# pages; the package that brings it would bring a browser of its own, too.
test-browser: build-tests docs
	@command -v chromium >/dev/null || { $(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core; }
	$(VENV)/bin/pip install -q --disable-pip-version-check --no-deps axe-playwright-python==0.1.8
	$(PY) -m pytest -q tests/browser

# The scripts and notebooks of examples/scripts and examples/notebooks.
examples: build venv-test
	set -e; for f in examples/scripts/*.py; do echo "$$f"; $(PY) $$f; done
	$(PY) examples/notebooks/build.py

# Which of MindSpore's names there are, into docs/api-coverage.md.
api: build
	$(PY) tools/api_coverage.py

# BENCH="--isa avx2 --rounds 1 numeric" and the like; see benchmarks/run.py --help.
bench: build
	$(PY) benchmarks/run.py $(BENCH)

# A training step of each program in examples/models; PIJIT_MINDSPORE names a Python that has MindSpore, the peer.
bench-models: build
	$(PY) benchmarks/models.py

# Forward passes of networks beside inference engines; PIJIT_PEERS names a Python that has openvino, onnxruntime with onnx, or torch.
# INFERENCE="resnet50 --kinds jit,openvino" and the like.
bench-inference: build
	$(PY) benchmarks/inference.py $(INFERENCE)

# Training steps of the same networks, and the memory that they take, beside torch; PIJIT_PEERS as above. TRAINING="vit_b32 --batch 4", "--forward" and the like.
bench-training: build
	$(PY) benchmarks/training.py $(TRAINING)

# Decoding with a KV cache, tokens one after the other; PIJIT_PEERS as above. GENERATION="--rounds 1" and the like.
bench-generation: build
	$(PY) benchmarks/generation.py $(GENERATION)

# Every figure that profiles, reports and notebooks tell, against a clock around the same code. On a machine that does nothing else.
bench-figures: build venv-test
	$(PY) benchmarks/figures.py

# Small programs, most of which gain nothing: none may take longer by any way to turn capture on. SCRIPTS="--only recursion --rounds 1 --cpu" and the like.
bench-scripts: build
	$(PY) benchmarks/scripts.py $(SCRIPTS)

# Programs as tutorials teach them, whole, plain and captured.
bench-tutorials: build
	$(PY) benchmarks/tutorials.py $(TUTORIALS)

# Every function with every reduction, jitted against eager.
bench-functions: build
	$(PY) benchmarks/functions.py

lint: deps-lint venv-dev
	$(VENV)/bin/ruff check pijit tests benchmarks demo.py setup.py tools examples --exclude '*.ipynb'
	$(VENV)/bin/basedpyright --pythonpath $(PY)
	$(PY) tools/known_types.py 95
	$(PY) tools/example_types.py
	clang-format --dry-run -Werror $$(git ls-files 'csrc/*.h' 'csrc/*.cc' 'tests/cpp/*.cc')
	$(CONFIGURE) lint >/dev/null
	git ls-files 'csrc/*.cc' 'tests/cpp/*.cc' | xargs -P $(JOBS) -n 4 $(VENV)/bin/clang-tidy -p build/lint --quiet --extra-arg=-idirafter$$($(CXX) -print-file-name=include)

clean:
	rm -rf build pijit/_C*.so pijit/libpijit_cuda.so pijit/libpijit_mpi.so
