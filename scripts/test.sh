#!/usr/bin/env bash
# Installs what is missing, builds and tests. Every check runs even if an earlier one failed. The last lines tell how long each took
# and how many failed.
#
#   scripts/test.sh                 all checks that one change should pass
#
#   scripts/test.sh --quick         only formatting, one build and its tests, for use while you work
#
#   scripts/test.sh --thorough      also long checks that rarely fail: clang-tidy of every source alone, 2 minutes per fuzz target;
#                                   use it before a release, or if a normal run finds something
#
#   … --only TEXT                   only checks whose name contains TEXT; what they need must have been built
#
#   … --within SECONDS              skips the checks that would probably end later on this machine
#
# A table in CONTRIBUTING.md lists the checks and how often they run. The last lines compare the times of checks and tests with
# tests/times.json (scripts/times.py).
set -euo pipefail
cd "$(dirname "$0")/.."

quick=false thorough=false only= within=
while (($# > 0)); do
  case $1 in
    --quick) quick=true ;;
    --thorough) thorough=true ;;
    --only) only=${2:?"--only needs a part of the name of a check"}; shift ;;
    --within) within=${2:?"--within needs seconds"}; shift ;;
    *) echo "usage: scripts/test.sh [--quick | --thorough] [--only TEXT] [--within SECONDS]" >&2; exit 2 ;;
  esac
  shift
done
export DDPSIM_THOROUGH=$($thorough && echo 1)

scripts/setup.sh --tests
$quick || scripts/setup.sh --real || echo "gloo and libtorch could not be installed: ddpsim-real is built without them"
command -v ccache >/dev/null && export CMAKE_CXX_COMPILER_LAUNCHER=ccache
jobs=$(nproc)
# A factor for every time-out of the tests, because this machine may be slow or busy.
DDPSIM_PATIENCE=$(python3 tests/cli/patience.py)
export DDPSIM_PATIENCE
failed=() skipped=() checks=0
ends=$(mktemp) times=build/times
rm -rf "$times"
mkdir -p "$times"
touch "$times/checks"
trap 'rm -f "$ends"' EXIT

# late NAME: whether the check would end too late, judged by its kept time and the speed of the checks before it.
late() {
  [[ -n $within ]] && ((SECONDS + $(python3 scripts/times.py "$times" --expected "$1") > within))
}
asked() { [[ -z $only || $1 == *"$only"* ]]; }
check() {  # check NAME COMMAND…
  local name=$1 status=0 spent out TIMEFORMAT='%R %U %S'
  shift
  asked "$name" || return 0
  if late "$name"; then skip "$name" "it would end later than --within $within"; return 0; fi
  printf '\n== %s\n' "$name"
  exec {out}>&1
  spent=$({ time "$@" >&"$out" 2>&1; } 2>&1) || status=$?
  exec {out}>&-
  note "$name" "$status" "$spent"
}
note() {  # note NAME STATUS "WALL USER SYSTEM"
  printf '%s\t%s\n' "$1" "$3" >>"$times/checks"
  checks=$((checks + 1))
  (($2 == 0)) || failed+=("$1")
}
# start NAME COMMAND…: starts a check that runs at the same time as the next ones. It uses cores that they leave idle: many tests
# wait for ranks, and some checks have one thread.
declare -A beside=()
start() {
  local name=$1 place TIMEFORMAT='%R %U %S'
  shift
  asked "$name" || return 0
  place=$(mktemp -d)
  (
    renice -n 15 "$BASHPID" >/dev/null
    status=0
    { time "$@" >"$place/said" 2>&1; } 2>"$place/spent" || status=$?
    exit "$status"
  ) &
  beside[$name]="$! $place"
}
finish() {  # finish NAME
  local pid place status=0
  asked "$1" || return 0
  read -r pid place <<<"${beside[$1]}"
  wait "$pid" || status=$?
  printf '\n== %s\n' "$1"
  cat "$place/said"
  note "$1" "$status" "$(tail -n 1 "$place/spent")"
  rm -rf "$place"
}
skip() {  # skip NAME REASON
  asked "$1" || return 0
  printf '\n== %s: skipped, %s\n' "$1" "$2"
  skipped+=("$1")
}

sources() { git ls-files -z -- "$@"; }
ruff=build/python-tools/bin/ruff
clang_formatting() { sources '*.cpp' '*.hpp' '*.h' '*.cu' '*.js' '*.mjs' | xargs -0 clang-format --dry-run -Werror; }
python_formatting() { sources '*.py' '*.pyi' | xargs -0 "$ruff" format --check --no-cache; }
formatting() {  # formatting PART…: runs every part, even if one fails
  local part status=0
  for part; do "$part" || status=1; done
  return $status
}
build() { cmake --preset "$1" >/dev/null && cmake --build --preset "$1" --parallel "$jobs" "${@:2}"; }
# tests PRESET OPTION…: failed tests are named again at the end, because a log that is cut keeps its end.
tests() {
  ctest --preset "$1" --parallel "$jobs" --timeout $((1500 * DDPSIM_PATIENCE)) --output-junit "$PWD/$times/tests-$1-$checks.xml" "${@:2}" || { failed_tests "build/$1/Testing/Temporary/LastTest.log" >>"$ends"; return 1; }
}
# failed_tests LOG: prints the name of each failed test and the end of its output.
failed_tests() {
  awk '/^[0-9]+\/[0-9]+ Test: / { sub(/^[^:]*: /, ""); name = $0; lines = 0 }
       { line[lines++] = $0 }
       /^Test Failed\.$/ { print "-- " name; for (i = lines > 30 ? lines - 30 : 0; i < lines; i++) print line[i] }' "$1"
}

# Each test gets its labels where it is added:
#
#   slow              left out by --quick: tests that train with PyTorch, shape links, launch ranks, build again, or run longest
#
#   unhurried         also left out by --quick: the longest of the others
#
#   timed             compares times, so it runs alone on the machine
#
#   elsewhere         runs without sanitizers only, because they find nothing in it or hinder it
#
#   rarely_sanitized  runs with sanitizers in --thorough only
#
#   thorough          runs in --thorough only
rare=thorough rarely=rarely_sanitized
if $thorough; then rare=none rarely=none; fi
sanitizers() { build "$1" && tests "$1" --label-exclude "slow|elsewhere|$rarely"; }
threads() {
  build tsan --target ddpsim_thread_tests &&
    build/tsan/tests/ddpsim_parallel_tests --test-case-exclude='*finds exactly*,*1000 caps*' && # these use one thread
    build/tsan/tests/real/ddpsim_real_tests &&
    tests tsan -R "^simulated GPU: races$" --no-tests=error
}
# fuzz_one TARGET OPTION…: fuzzes one target, from its own corpus and from the inputs that long runs found.
fuzz_one() {
  local found=build/fuzz/corpus/${1##*/} kept=tests/fuzz/found/${1##*/}.tar.gz
  rm -rf "$found"
  mkdir -p "$found"
  if [[ -f $kept ]]; then tar -xzf "$kept" -C "$found"; fi
  "$@" -max_len=20000 -verbosity=0 -print_final_stats=0 \
    -artifact_prefix=build/fuzz/ "$found" "tests/fuzz/corpus/${1##*/}" >"$found.log" 2>&1 ||
    { echo "${1##*/}"; tail -n 40 "$found.log"; return 1; }
}
export -f fuzz_one
fuzz() {  # fuzz OPTION…: fuzzes each target
  find "build/$sanitizers/tests/fuzz" -maxdepth 1 -name 'fuzz_*' -type f -perm -u+x ! -name '*_replay' -print0 |
    xargs -0 -r -n 1 -P "$jobs" bash -c "fuzz_one \"\$0\" $*"
}
# Tidies all sources except those of tests. A normal run tidies them in the groups that the build with sanitizers compiles, so that
# headers are read once for 32 sources. That build has no CUDA and no libtorch. --thorough tidies each source alone, also those
# of CUDA, and so finds missing includes. c10d_runner is left out, because clang cannot read libtorch's headers as C++20. Generated
# files are left out if they were not built.
to_tidy() {  # to_tidy BUILD_FOLDER
  python3 - "$1/compile_commands.json" <<'END'
import json, os, sys
files = sorted({os.path.relpath(command["file"]) for command in json.load(open(sys.argv[1]))})
print("\n".join(file for file in files if os.path.exists(file) and "c10d_runner" not in file and "tests" not in file.split(os.sep)))
END
}
tidy() {
  local folder=build/$1
  cmake --preset "$1" >/dev/null
  to_tidy "$folder" | xargs -r -n 1 -P "$jobs" clang-tidy -p "$folder" --quiet --header-filter='/(include/ddpsim|src|(sim|diagnose|calibrate|reports|cli)/[a-z]+)/'
}
wasm() { build wasm && cd tests/cli && DDPSIM_WASM=$PWD/../../build/wasm/engine DDPSIM_BIN=none python3 -m unittest -v test_wasm; }
workbench() {  # 77: tools are missing, with a note
  DDPSIM_BIN=$PWD/build/release/cli/ddpsim python3 tests/page/in_browser.py test_workbench || [[ $? == 77 ]]
}
# Makes the files of a release and tests them. The portable programs must print what the native one prints; that of ARM runs a sample
# under qemu.
artefacts() {
  scripts/release.sh -o build/release-files &&
    DDPSIM_RELEASE=$PWD/build/release-files python3 -m unittest discover -v -s tests/release
}
portable() {
  python3 tests/cli/portable_golden.py build/portable/cli/ddpsim &&
    if command -v qemu-aarch64 >/dev/null; then
      python3 tests/cli/portable_golden.py --of-each 6 \
        qemu-aarch64 -L /usr/aarch64-linux-gnu "$PWD/build/portable-aarch64/cli/ddpsim"
    else
      echo "the program for ARM did not run, because qemu-aarch64 is not installed"
    fi
}
reproduced() {  # builds in a clone in another folder
  local elsewhere status=0
  elsewhere=$(mktemp -d)
  git clone -q . "$elsewhere/ddpsim" && mkdir "$elsewhere/ddpsim/build" &&
    cp -r build/sources build/portable-tools "$elsewhere/ddpsim/build" &&
    if [[ -f build/wasm/ddpsim.html ]]; then install -D build/wasm/ddpsim.html "$elsewhere/ddpsim/build/wasm/ddpsim.html"; fi &&
    (sums=$PWD/build/release-files/SHA256SUMS; cd "$elsewhere/ddpsim" && scripts/release.sh x86_64 && cd out/release &&
      grep -e x86_64 -e amd64 -e cdx "$sums" | sha256sum -c) || status=1
  rm -rf "$elsewhere"
  return $status
}
# Only checks that the benchmarks run. Their speed must be measured on a quiet machine.
benchmarks() {
  build/release/tests/bench/ddpsim_bench --benchmark_min_time=0.01
}
# Some tests are left out: they would take hours without optimization, or exceed their limit of CPU time (budgets). gcov sometimes
# reports a negative number of branches taken. The only option of gcovr that accepts such a line accepts all lines that it cannot read,
# and prints each.
coverage() {
  build coverage && GCOV_ERROR_FILE=$PWD/build/coverage/gcov.log tests coverage --quiet --label-exclude "slow|elsewhere|timed" -E "^cli: budgets$" &&
    gcovr --root . --exclude 'tests/' --object-directory build/coverage --gcov-ignore-parse-errors --print-summary -o build/coverage/lines.txt
}

# Builds and tests like --quick in a clone, without gloo, CUDA and MPI. The clone also lacks what setup.sh puts into build, and the data
# next to the checkout.
bare() {
  local elsewhere status=0
  elsewhere=$(mktemp -d)
  git clone -q . "$elsewhere/ddpsim" &&
    (cd "$elsewhere/ddpsim" && cmake --preset quick -DDDPSIM_REAL_C10D=OFF -DDDPSIM_REAL_CUDA=OFF -DDDPSIM_MPI=OFF >/dev/null &&
      cmake --build --preset quick --parallel "$jobs" && ctest --preset quick --parallel "$jobs" --label-exclude slow) || status=1
  rm -rf "$elsewhere"
  return $status
}

$quick || scripts/setup.sh --python || skip "Python package: types, frames, notebook" "its tools could not be installed"
formatters=()  # other versions format some details differently
if [[ $(clang-format --version 2>/dev/null) == *"version 14."* ]]; then
  formatters+=(clang_formatting)
else
  skip "formatting of C++" "clang-format 14 is not installed"
fi
ruff_version=$(sed -n 's/^ruff==//p' scripts/python_tools.txt)
if [[ $("$ruff" --version 2>/dev/null) == "ruff $ruff_version" ]]; then
  formatters+=(python_formatting)
else
  skip "formatting of Python" "ruff $ruff_version is not installed (scripts/setup.sh --python)"
fi
((${#formatters[@]} == 0)) || check formatting formatting "${formatters[@]}"
check "plain English" python3 scripts/plain_english.py

if $quick; then
  check "build" build quick
  check "tests" tests quick --label-exclude "slow|unhurried"
else
  scripts/setup.sh --page || skip "page: in a browser" "its tools could not be installed"
  scripts/setup.sh --torch || skip "recorder in real trainings" "PyTorch could not be installed"
  if $thorough; then scripts/setup.sh --frameworks; fi
  scripts/mutate.sh --install || skip "mutation: tool" "its packages could not be installed"
  check "release: build" build release
  sanitizers=asan
  if echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' |
       clang++ -x c++ -fsanitize=fuzzer -o /dev/null - 2>/dev/null; then
    sanitizers=fuzz  # one build with clang serves both
    if $thorough; then sanitizers=fuzz-whole; fi
  fi
  start "sanitizers: build" build "$sanitizers"
  check "release: tests" tests release --label-exclude "timed|$rare"
  finish "sanitizers: build"
  check "release: tests that time" tests release --label-regex timed --label-exclude "$rare"
  if [[ -d ../shared/data/nccl-tests ]]; then
    check "bundled clusters: as calibrated" python3 scripts/calibrate_bundled.py --data ../shared/data --check
  else
    skip "bundled clusters: as calibrated" "the published logs are missing"
  fi
  check "benchmarks" benchmarks
  start "accuracy: the pages' figures" scripts/accuracy.sh --quick
  check "address and undefined behaviour sanitizers" sanitizers "$sanitizers"
  if [[ $sanitizers == fuzz* ]]; then
    if $thorough; then
      check "fuzzing, 120 s a target" fuzz -max_total_time=120
    else
      # The inputs are the same in every run, so that a run that passes here also passes in CI. Values seen in comparisons would differ
      # from run to run, so they are not used.
      check "fuzzing, 10,000 inputs a target" fuzz -seed=1 -runs=10000 -use_cmp=0
    fi
  else
    skip "fuzzing" "clang with libFuzzer is not installed"
  fi
  check "thread sanitizer" threads
  finish "accuracy: the pages' figures"
  if command -v clang-tidy >/dev/null; then
    if $thorough || [[ $sanitizers != fuzz ]]; then check "clang-tidy" tidy dev; else check "clang-tidy" tidy fuzz; fi
  else
    skip "clang-tidy" "it is not installed"
  fi
  if $thorough; then
    if command -v em++ >/dev/null && [[ -d build/sources/zlib ]]; then
      check "WebAssembly: as the native program" wasm
      check "ddpsim.html: in a browser" workbench
    else
      skip "WebAssembly" "Emscripten is not installed (scripts/setup.sh --wasm)"
    fi
    if scripts/setup.sh --release && [[ -x build/portable-tools/bin/python ]]; then
      check "release: what is given to people" artefacts
      check "portable program: as the native one" portable
      check "release: made elsewhere, the same bytes" reproduced
    else
      skip "release: what is given to people" "zig could not be installed"
    fi
    check "configuration: lightly optimised, with everything: build" build quick
    check "configuration: lightly optimised, with everything: tests" tests quick --label-exclude slow
    check "configuration: lightly optimised, without optional tools" bare
    if command -v gcovr >/dev/null; then
      check coverage coverage
    else
      skip coverage "gcovr is not installed"
    fi
  fi
fi

cat "$ends"
python3 scripts/times.py "$times"
for name in "${skipped[@]}"; do echo "skipped: $name"; done
for name in "${failed[@]}"; do echo "failed: $name"; done
echo "Checks: $((checks - ${#failed[@]})) passed, ${#failed[@]} failed, ${#skipped[@]} skipped, in $SECONDS s"
if ((checks + ${#skipped[@]} == 0)); then
  echo "no name of a check contains \"$only\"" >&2
  exit 2
fi
[[ ${#failed[@]} -eq 0 ]]
