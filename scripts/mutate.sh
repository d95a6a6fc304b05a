#!/usr/bin/env bash
# Mutation testing of ddpsim: finds small faults that the tests do not notice. tests/mutation/mutate.py explains how.
#
#   scripts/mutate.sh [--seed N] [--count K] [--part P]... [--changed [BASE]] [--faults] [--wide] [--list] [--jobs J]
#   scripts/mutate.sh --install              installs only the packages of the tool
#
# Examples:
#
#   scripts/mutate.sh --changed              faults on the lines that differ from main, to finish a large change
#
#   scripts/mutate.sh --part tune --count 60 sixty faults in one part
#
#   scripts/mutate.sh --faults               the faults of tests/mutation/faults.json, which must all be noticed
#
# Everything is written to build/mutate; the checkout is not touched. The report is build/mutate/report-SEED.json
# (or report-SEED-PART.json, report-changed.json, report-faults.json). 200 mutants take about twenty minutes on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=build/mutate/venv
if ! "$venv/bin/python" -c 'import universalmutator, tree_sitter, tree_sitter_cpp' 2>/dev/null; then
  mkdir -p build/mutate
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r tests/mutation/requirements.txt
fi
[[ ${1:-} != --install ]] || exit 0
exec "$venv/bin/python" -B tests/mutation/mutate.py "$@"
