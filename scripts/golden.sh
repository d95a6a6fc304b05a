#!/usr/bin/env bash
# Keeps anew what the commands of tests/golden/commands.txt print and write, then shows the difference for review.
# DDPSIM_BIN names another program than the one this builds.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ -z ${DDPSIM_BIN:-} ]]; then
  cmake --preset quick >/dev/null && cmake --build --preset quick --target ddpsim_cli
  DDPSIM_BIN=$PWD/build/quick/cli/ddpsim
fi
cd tests/cli
DDPSIM_BIN=$DDPSIM_BIN DDPSIM_UPDATE_GOLDEN=1 PYTHONDONTWRITEBYTECODE=1 python3 -m unittest test_golden
git add --intent-to-add ../golden  # new files are shown, too
git --no-pager diff --stat -- ../golden
git --no-pager diff -- ../golden
