#!/usr/bin/env bash
# Installs what is missing, builds and tests everything. --quick: formatting, build, tests.
# Every check runs even when an earlier one failed; the last line says how many did.
set -euo pipefail
cd "$(dirname "$0")/.."

quick=false
case ${1:-} in
  "") ;;
  --quick) quick=true ;;
  *) echo "usage: scripts/test.sh [--quick]" >&2; exit 2 ;;
esac

scripts/setup.sh --tests
$quick || scripts/setup.sh --real || echo "gloo and libtorch could not be installed: ddpsim-real is built without them"
command -v ccache >/dev/null && export CMAKE_CXX_COMPILER_LAUNCHER=ccache
jobs=$(nproc)
passed=() failed=() skipped=()

check() {  # check NAME COMMAND…
  local name=$1 begin=$SECONDS
  shift
  printf '\n== %s\n' "$name"
  if "$@"; then passed+=("$name"); else failed+=("$name"); fi
  echo "-- $name: $((SECONDS - begin)) s"
}
skip() {  # skip NAME REASON
  printf '\n== %s: skipped, %s\n' "$1" "$2"
  skipped+=("$1")
}

sources() { git ls-files -z -- "$@"; }
formatting() { sources '*.cpp' '*.hpp' '*.h' '*.cu' | xargs -0 clang-format --dry-run -Werror; }
build() { cmake --preset "$1" >/dev/null && cmake --build --preset "$1" --parallel "$jobs" "${@:2}"; }
tests() { ctest --preset "$1" --parallel "$jobs" "${@:2}"; }
build_and_test() { build "$1" && tests "$@"; }
# Slow without optimisation: the release build runs them.
for_release='consumer|torch|recorder|lab: (steps|one process|loop|table, predicted)|cli: (readme|compare|flow|ddp_log)|step time:|steady state:'
dev() { build dev && tests dev --exclude-regex "$for_release"; }
threads() {
  build tsan --target ddpsim_parallel_tests ddpsim_real_tests &&
    build/tsan/tests/ddpsim_parallel_tests --test-case-exclude='*finds exactly*,*1000 caps*' && # one thread
    build/tsan/tests/real/ddpsim_real_tests
}
tidy() {
  # Not c10d_runner: clang does not read libtorch's headers as C++20.
  sources 'calibrate/*.cpp' 'cli/*.cpp' 'formats/*.cpp' 'models/*.cpp' 'real/*.cpp' 'reports/*.cpp' \
          'sim/*.cpp' 'topologies/*.cpp' 'traces/*.cpp' ':!real/src/c10d_runner.cpp' | tr '\0' '\n' | while read -r file; do
    # Backends whose libraries are absent are not built.
    if grep -qF "/$file\"" build/dev/compile_commands.json; then echo "$file"; fi
  done | xargs -n 4 -P "$jobs" clang-tidy -p build/dev --quiet
}
benchmarks() {  # they must run; how fast is a matter for a quiet machine
  build release --target ddpsim_bench && build/release/tests/bench/ddpsim_bench --benchmark_min_time=0.01
}
# What memory errors cannot hide in, and what would only take long; other builds run it.
# A process without descriptors: the undefined-behaviour sanitizer needs some itself, to look at a thread's object.
not_for_sanitizers="$for_release|real: (program|launched)|lab: killed|real store: a moment without descriptors"
not_for_sanitizers+="|compiles|does not compile|cli: reference_buckets"
sanitizers() { build "$1" && tests "$1" --exclude-regex "$not_for_sanitizers"; }
fuzz_one() {  # fuzz_one TARGET: 15 s, from its own corpus and from what long runs found
  local found=build/fuzz/corpus/${1##*/} kept=tests/fuzz/found/${1##*/}.tar.gz
  mkdir -p "$found"
  if [[ -f $kept ]]; then tar -xzf "$kept" -C "$found"; fi
  "$1" -max_total_time=15 -max_len=20000 -verbosity=0 -print_final_stats=0 \
    -artifact_prefix=build/fuzz/ "$found" "tests/fuzz/corpus/${1##*/}" >"$found.log" 2>&1 ||
    { echo "${1##*/}"; tail -n 40 "$found.log"; return 1; }
}
export -f fuzz_one
fuzz() {
  find build/fuzz/tests/fuzz -maxdepth 1 -name 'fuzz_*' -type f -perm -u+x ! -name '*_replay' -print0 |
    xargs -0 -n 1 -P "$jobs" bash -c 'fuzz_one "$0"'
}
coverage() {
  build coverage && tests coverage --quiet &&
    gcovr --root . --exclude 'tests/' --object-directory build/coverage --print-summary -o /dev/null
}

format_version=$(clang-format --version 2>/dev/null | grep -o 'version [0-9]*' || true)
if [[ $format_version == "version 14" ]]; then
  check formatting formatting
else
  skip formatting "clang-format 14 is not here"  # other versions disagree with it in details
fi
check "dev: build and tests" dev

if ! $quick; then
  if echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' |
       clang++ -x c++ -fsanitize=fuzzer -o /dev/null - 2>/dev/null; then
    # One build with clang serves both.
    check "address and undefined behaviour sanitizers" sanitizers fuzz
    check "fuzzing, 15 s a target" fuzz
  else
    check "address and undefined behaviour sanitizers" sanitizers asan
    skip "fuzzing" "clang with libFuzzer is not here"
  fi
  check "thread sanitizer" threads
  scripts/setup.sh --torch || skip "recorder in real trainings" "PyTorch could not be installed"
  check "release: build and tests" build_and_test release
  check "accuracy: the README's figures" scripts/accuracy.sh --quick
  check benchmarks benchmarks
  if command -v clang-tidy >/dev/null; then
    check clang-tidy tidy
  else
    skip clang-tidy "it is not here"
  fi
  if command -v gcovr >/dev/null; then
    check coverage coverage
  else
    skip coverage "gcovr is not here"
  fi
fi

printf '\n'
for name in "${skipped[@]}"; do echo "skipped: $name"; done
for name in "${failed[@]}"; do echo "failed: $name"; done
echo "Checks: ${#passed[@]} passed, ${#failed[@]} failed, ${#skipped[@]} skipped, $SECONDS s"
[[ ${#failed[@]} -eq 0 ]]
