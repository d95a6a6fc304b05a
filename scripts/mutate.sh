#!/usr/bin/env bash
# Which small faults the tests notice: mutation testing of ddpsim (tests/mutation/mutate.py says how).
#
#   scripts/mutate.sh [--seed N] [--count K] [--part P]... [--changed [BASE]] [--faults] [--wide] [--list] [--jobs J]
#   scripts/mutate.sh --install              only the tool's packages
#
#   scripts/mutate.sh --changed              faults on the lines that differ from main, before a large change is called done
#   scripts/mutate.sh --part tune --count 60 sixty in one part
#   scripts/mutate.sh --faults               the faults of tests/mutation/faults.json: each must be noticed
#
# Everything is written to build/mutate; the checkout is not touched. The report lies in build/mutate/report-SEED.json
# (report-SEED-PART.json, report-changed.json, report-faults.json). 200 mutants take about twenty minutes on two cores.
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
