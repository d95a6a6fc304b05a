#!/usr/bin/env bash
# Installs what is missing, builds and tests. Every check runs even when an earlier one failed; the last lines say what each
# took and how many failed.
#
#   scripts/test.sh                 everything that one change should pass
#   scripts/test.sh --quick         formatting, one build, its tests: while you work
#   scripts/test.sh --thorough      also what is long and rarely fails: clang-tidy of every source by itself, 2 minutes a fuzz
#                                   target; before a release, or where the first finds something
#   … --only TEXT                   checks whose name contains TEXT; what they need must have been built
#   … --within SECONDS              leaves out, and says so, the checks that would probably end later on this machine
#
# Which check runs what, and how often, is a table in CONTRIBUTING.md. The last lines compare what checks and tests took with
# tests/times.json (scripts/times.py).
set -euo pipefail
cd "$(dirname "$0")/.."

quick=false thorough=false only= within=
while (($# > 0)); do
  case $1 in
    --quick) quick=true ;;
    --thorough) thorough=true ;;
    --only) only=${2:?"--only needs a part of a check's name"}; shift ;;
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
DDPSIM_PATIENCE=$(python3 tests/cli/patience.py)  # multiplies every time-out of the tests: this machine may be slow or busy
export DDPSIM_PATIENCE
failed=() skipped=() checks=0
ends=$(mktemp) times=build/times
rm -rf "$times"
mkdir -p "$times"
touch "$times/checks"
trap 'rm -f "$ends"' EXIT

late() {  # late NAME: judged by the kept times and by how fast the checks before it were
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
# A check beside those that follow, on what they leave idle: many tests wait for ranks, and some checks have one thread.
declare -A beside=()
start() {  # start NAME COMMAND…
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
formatting() {  # formatting PART…: every part, even when an earlier one failed
  local part status=0
  for part; do "$part" || status=1; done
  return $status
}
build() { cmake --preset "$1" >/dev/null && cmake --build --preset "$1" --parallel "$jobs" "${@:2}"; }
tests() {  # a log that is cut keeps its end: there the failed tests are named once more
  ctest --preset "$1" --parallel "$jobs" --timeout $((1500 * DDPSIM_PATIENCE)) --output-junit "$PWD/$times/tests-$1-$checks.xml" "${@:2}" || { failed_tests "build/$1/Testing/Temporary/LastTest.log" >>"$ends"; return 1; }
}
failed_tests() {  # failed_tests LOG: the name and the end of what it said, of each
  awk '/^[0-9]+\/[0-9]+ Test: / { sub(/^[^:]*: /, ""); name = $0; lines = 0 }
       { line[lines++] = $0 }
       /^Test Failed\.$/ { print "-- " name; for (i = lines > 30 ? lines - 30 : 0; i < lines; i++) print line[i] }' "$1"
}

# Labels are given where each test is added. --quick leaves out `slow`: tests that train with PyTorch, shape links, launch, build
# once more, or run longest; and `unhurried`: the longest of the others. Tests labelled `timed` hold times against each other, and get the machine for themselves. `elsewhere`
# marks tests in which memory errors cannot hide, or which sanitizers hinder: the other build runs them; `rarely_sanitized`, those
# that sanitizers run in --thorough alone. `thorough` marks what --thorough alone runs.
rare=thorough rarely=rarely_sanitized
if $thorough; then rare=none rarely=none; fi
sanitizers() { build "$1" && tests "$1" --label-exclude "slow|elsewhere|$rarely"; }
threads() {
  build tsan --target ddpsim_thread_tests &&
    build/tsan/tests/ddpsim_parallel_tests --test-case-exclude='*finds exactly*,*1000 caps*' && # one thread
    build/tsan/tests/real/ddpsim_real_tests &&
    tests tsan -R "^simulated GPU: races$" --no-tests=error
}
fuzz_one() {  # fuzz_one TARGET OPTION…: from its own corpus and from what long runs found
  local found=build/fuzz/corpus/${1##*/} kept=tests/fuzz/found/${1##*/}.tar.gz
  rm -rf "$found"
  mkdir -p "$found"
  if [[ -f $kept ]]; then tar -xzf "$kept" -C "$found"; fi
  "$@" -max_len=20000 -verbosity=0 -print_final_stats=0 \
    -artifact_prefix=build/fuzz/ "$found" "tests/fuzz/corpus/${1##*/}" >"$found.log" 2>&1 ||
    { echo "${1##*/}"; tail -n 40 "$found.log"; return 1; }
}
export -f fuzz_one
fuzz() {  # fuzz OPTION…, each target
  find "build/$sanitizers/tests/fuzz" -maxdepth 1 -name 'fuzz_*' -type f -perm -u+x ! -name '*_replay' -print0 |
    xargs -0 -r -n 1 -P "$jobs" bash -c "fuzz_one \"\$0\" $*"
}
# Tidies every source but the tests'. Each change tidies them in the groups that the sanitizers' build compiles, so that headers are
# read once for thirty-two sources; that build has no CUDA and no libtorch. --thorough tidies each source by itself, also those of
# CUDA, and so tells who leaves out an include. c10d_runner is left out: clang does not read libtorch's headers as C++20. So are
# files that a build would make, where none was built.
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
workbench() {  # 77: its tools are missing, which was said
  DDPSIM_BIN=$PWD/build/release/cli/ddpsim python3 tests/page/in_browser.py test_workbench || [[ $? == 77 ]]
}
# What is given to people, made here; the portable programs do what the native one does, ARM's under qemu a sample of it.
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
      echo "ARM's program did not run: qemu-aarch64 is not here"
    fi
}
reproduced() {  # from a clone elsewhere
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
benchmarks() {  # they must run; how fast is a matter for a quiet machine
  build/release/tests/bench/ddpsim_bench --benchmark_min_time=0.01
}
# The tests left out would take hours without optimization; those of budgets would exceed their limit of CPU time. gcov sometimes
# says that a branch was taken a negative number of times; gcovr can pass over that only together with every other line that it
# cannot read, and names each.
coverage() {
  build coverage && GCOV_ERROR_FILE=$PWD/build/coverage/gcov.log tests coverage --quiet --label-exclude "slow|elsewhere|timed" -E "^cli: budgets$" &&
    gcovr --root . --exclude 'tests/' --object-directory build/coverage --gcov-ignore-parse-errors --print-summary -o build/coverage/lines.txt
}

# Builds and tests as --quick does, in a clone without gloo, CUDA, MPI, what setup.sh puts into build, and the data beside the checkout.
bare() {
  local elsewhere status=0
  elsewhere=$(mktemp -d)
  git clone -q . "$elsewhere/ddpsim" &&
    (cd "$elsewhere/ddpsim" && cmake --preset quick -DDDPSIM_REAL_C10D=OFF -DDDPSIM_REAL_CUDA=OFF -DDDPSIM_MPI=OFF >/dev/null &&
      cmake --build --preset quick --parallel "$jobs" && ctest --preset quick --parallel "$jobs" --label-exclude slow) || status=1
  rm -rf "$elsewhere"
  return $status
}

$quick || scripts/setup.sh --python || skip "Python package: types, frames, notebook" "their tools could not be installed"
formatters=()  # other versions disagree with these in details
if [[ $(clang-format --version 2>/dev/null) == *"version 14."* ]]; then
  formatters+=(clang_formatting)
else
  skip "formatting of C++" "clang-format 14 is not here"
fi
ruff_version=$(sed -n 's/^ruff==//p' scripts/python_tools.txt)
if [[ $("$ruff" --version 2>/dev/null) == "ruff $ruff_version" ]]; then
  formatters+=(python_formatting)
else
  skip "formatting of Python" "ruff $ruff_version is not here (scripts/setup.sh --python)"
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
    skip "bundled clusters: as calibrated" "the published logs are not here"
  fi
  check "benchmarks" benchmarks
  start "accuracy: the pages' figures" scripts/accuracy.sh --quick
  check "address and undefined behaviour sanitizers" sanitizers "$sanitizers"
  if [[ $sanitizers == fuzz* ]]; then
    if $thorough; then
      check "fuzzing, 120 s a target" fuzz -max_total_time=120
    else  # the same inputs every time (values seen in comparisons differ from run to run): what passes here passes in CI
      check "fuzzing, 10,000 inputs a target" fuzz -seed=1 -runs=10000 -use_cmp=0
    fi
  else
    skip "fuzzing" "clang with libFuzzer is not here"
  fi
  check "thread sanitizer" threads
  finish "accuracy: the pages' figures"
  if command -v clang-tidy >/dev/null; then
    if $thorough || [[ $sanitizers != fuzz ]]; then check "clang-tidy" tidy dev; else check "clang-tidy" tidy fuzz; fi
  else
    skip "clang-tidy" "it is not here"
  fi
  if $thorough; then
    if command -v em++ >/dev/null && [[ -d build/sources/zlib ]]; then
      check "WebAssembly: as the native program" wasm
      check "ddpsim.html: in a browser" workbench
    else
      skip "WebAssembly" "Emscripten is not here (scripts/setup.sh --wasm)"
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
      skip coverage "gcovr is not here"
    fi
  fi
fi

cat "$ends"
python3 scripts/times.py "$times"
for name in "${skipped[@]}"; do echo "skipped: $name"; done
for name in "${failed[@]}"; do echo "failed: $name"; done
echo "Checks: $((checks - ${#failed[@]})) passed, ${#failed[@]} failed, ${#skipped[@]} skipped, in $SECONDS s"
if ((checks + ${#skipped[@]} == 0)); then
  echo "no check's name contains \"$only\"" >&2
  exit 2
fi
[[ ${#failed[@]} -eq 0 ]]
