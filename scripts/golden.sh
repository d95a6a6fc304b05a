#!/usr/bin/env bash
# Runs the commands of tests/golden/commands.txt, stores what they print and write, and shows the difference for review.
# DDPSIM_BIN names a program to use instead of the one that this script builds.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ -z ${DDPSIM_BIN:-} ]]; then
  cmake --preset quick >/dev/null && cmake --build --preset quick --target ddpsim_cli
  DDPSIM_BIN=$PWD/build/quick/cli/ddpsim
fi
cd tests/cli
DDPSIM_BIN=$DDPSIM_BIN DDPSIM_UPDATE_GOLDEN=1 PYTHONDONTWRITEBYTECODE=1 python3 -m unittest test_golden
git add --intent-to-add ../golden  # show new files, too
git --no-pager diff --stat -- ../golden
git --no-pager diff -- ../golden
