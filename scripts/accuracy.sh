#!/usr/bin/env bash
# Writes all accuracy tables, with trivial predictors, to one Markdown file. Then checks that docs/accuracy.md and the README match.
#
#   scripts/accuracy.sh [--quick] [FILE]        default: build/accuracy.md
#
# --quick leaves out tables that no page shows, and fits again only if the fitted values have changed.
#
# The measurements are next to the checkout, in ../shared or where DDPSIM_SHARED says; the unit tests use ../shared only. Tables
# without their measurements are skipped with a note. The exit code is 1 if a table could not be made, one of its checks failed, or
# a page has other numbers.
set -euo pipefail
cd "$(dirname "$0")/.."
quick=false
if [[ ${1:-} == --quick ]]; then quick=true; shift; fi
file=${1:-build/accuracy.md}
shared=$(realpath -m "${DDPSIM_SHARED:-../shared}")
[[ -d $shared/data ]] || { echo "accuracy: skipped, because $shared has no measurements"; exit 0; }

command -v ccache >/dev/null && export CMAKE_CXX_COMPILER_LAUNCHER=ccache
cmake --preset release >/dev/null
cmake --build --preset release --parallel "$(nproc)" --target ddpsim ddpsim_tests
ddpsim=$PWD/build/release/cli/ddpsim
tests=$PWD/build/release/tests/ddpsim_tests
mkdir -p "$(dirname "$file")"
table=$(mktemp); trap 'rm -f "$table"' EXIT
failed=0

# section TITLE COMMAND…: adds a section with the Markdown that the command prints.
section() {
  local title=$1; shift
  local begin=$SECONDS
  printf '\n## %s\n\n' "$title" >>"$file"
  if "$@" >"$table" 2>&1; then
    cat "$table" >>"$file"
    echo "accuracy: $title: $((SECONDS - begin)) s"
  else
    failed=1
    cat "$table" >>"$file"
    printf '\n**failed**\n' >>"$file"
    echo "accuracy: $title: failed"; tail -n 20 "$table"
  fi
}

# as_text COMMAND…: runs a command that prints plain text. Exit code 77 means that it had nothing to measure, and said so.
as_text() {
  local status=0
  echo '```text'
  "$@" || status=$?
  echo '```'
  (( status == 0 || status == 77 ))
}

# messages CASE: prints each MESSAGE of the test cases, as a block under the name of its case.
messages() {
  local status=0
  "$tests" --no-colors=true --no-path-filenames=true -tc="$1" >"$table.log" 2>&1 || status=1
  awk '
    /^TEST CASE: / { flush(); name = substr($0, 13); next }
    /^=====/ || /^\[doctest\]/ { flush(); next }
    /ERROR: / { flush() }
    match($0, /MESSAGE: /) { flush(); text = substr($0, RSTART + 9); next }
    text != "" { text = text "\n" $0 }
    function flush() {
      if (text != "") {
        sub(/\n+$/, "", text)
        if (name != shown) { printf "**%s**\n\n", name; shown = name }
        printf "```text\n%s\n```\n\n", text
      }
      text = ""
    }
    END { flush(); if (shown == "") { print "No test case prints this table."; exit 1 } }' "$table.log" || status=1
  (( status == 0 )) || grep -A6 'ERROR: ' "$table.log" || true
  rm -f "$table.log"
  return "$status"
}

{
  echo "# Accuracy"
  echo
  echo "Made by \`scripts/accuracy.sh\` from measurements nobody here made. Errors are |predicted − measured| / measured;"
  echo "beside each table stand predictors that know no simulation."
} >"$file"

section "Published data-parallel scaling" \
  python3 tests/accuracy/published_scaling.py "$shared" --ddpsim "$ddpsim"
section "Pairs of clusters that ran one job" \
  python3 tests/accuracy/published_pairs.py "$shared" --ddpsim "$ddpsim"
section "What several ranks cost" \
  python3 tests/accuracy/rank_costs.py "$shared" --ddpsim "$ddpsim"
section "Single settings, with and without" \
  python3 tests/accuracy/settings.py "$shared" --ddpsim "$ddpsim"
section "Peak memory" as_text python3 tests/accuracy/memory_cases.py "$ddpsim" --check
section "Other schemes" \
  python3 tests/accuracy/schemes.py "$shared" --ddpsim "$ddpsim" --check
section "PyTorch's DDP benchmark, part by part" messages "PyTorch*"
assumptions=(--choices --sensitivity) refit=(--refit)
if $quick; then assumptions=() refit=(); fi
section "The DDP paper" as_text python3 tests/accuracy/ddp_paper.py "$ddpsim" "${assumptions[@]}"
section "Compute beside NCCL" as_text python3 tests/accuracy/measure_interference.py
section "All-reduce: the cost model, uncalibrated" messages "pipeline cost model*"
section "All-reduce: the cost model, each family left out" as_text \
  python3 tests/accuracy/fit_cost_model.py --tests "$tests" --leave-one-out "${refit[@]}" "$shared/data/nccl-tests"
section "All-reduce: intervals by kind of machine" messages "uncertainty: for each kind*"
section "Bundled clusters beside the published logs they rest on" messages "bundled clusters: each*"
section "Logs: sound or not" messages "health: all*"
section "All-reduce: calibrated on logs" messages "calibrate: *,scaling law*"
section "Replay of recorded steps" messages "replay*,seed case*"
section "Import of traces" messages "profiler trace: every iteration*"
section "How steps vary" messages "step spread: each step left out*,step spread: a step is predicted*"
section "Layer costs" messages "layer cost*"
section "Whole steps, estimated" messages "step time*"
section "Decoders, estimated" messages "decoder steps*"
section "Another GPU or batch" messages "transfer*"
section "Flow network beside the cost model" messages "flow*"
for measured in one_gigabit fp16_hook four_ranks; do
  section "The lab, $measured: our reducer beside PyTorch's" as_text \
    python3 tests/lab/compare_reducers.py "tests/lab/measured/$measured.csv"
  section "The lab, $measured: predicted beside it" as_text \
    python3 tests/lab/predict.py --program "$ddpsim" "tests/lab/measured/$measured.csv"
done
section "The lab: real DDP beside PyTorch's reducer" as_text \
  python3 tests/lab/compare_reducers.py --backends torch c10d-gloo tests/lab/measured/fp16_hook.csv
section "The lab: settings" as_text \
  python3 tests/lab/settings.py --program "$ddpsim" --table tests/lab/measured/settings.json
section "The lab: schemes" as_text \
  python3 tests/lab/schemes.py --program "$ddpsim" --table tests/lab/measured/schemes.json
for card in tests/lab/measured/gpu/*; do
  section "Measured on one GPU: ${card##*/}" \
    python3 tests/accuracy/gpu_tables.py --ddpsim "$ddpsim" --measured "$card"
done
section "Launches of a step" python3 tests/accuracy/launch_counts.py --ddpsim "$ddpsim"
section "Steps at many batch sizes" python3 tests/accuracy/field_steps.py --ddpsim "$ddpsim" --shared "$shared"
if ! $quick; then  # these take minutes, and no page shows them
  section "Bucket caps: measured curves" python3 tests/accuracy/cap_curves.py --ddpsim "$ddpsim" "$shared" --curves
  section "Bucket caps: today's GPUs" \
    python3 tests/accuracy/todays_gpus.py --ddpsim "$ddpsim" --more-neighbours --answers build/todays_gpus.json
  section "Bucket caps: what an expert would answer" python3 tests/accuracy/expert_advice.py --ddpsim "$ddpsim"
fi
section "The lab: autotune" as_text python3 tests/lab/autotune.py --table tests/lab/measured/autotune.json

echo "accuracy: $file"
python3 tests/accuracy/accuracy_page.py "$file" || failed=1
exit "$failed"
