#!/usr/bin/env bash
# Goes from a fresh clone to an answer. Installs what is missing, builds ddpsim, and predicts ResNet-50 on two V100 with
# NVLink, from a step recorded on a real V100.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
mkdir -p build out
echo "Building ddpsim in build/demo (log: build/demo.log) …"
command -v ccache >/dev/null && export CMAKE_CXX_COMPILER_LAUNCHER=ccache
if ! { cmake --preset demo && cmake --build --preset demo --parallel "$(nproc)"; } >build/demo.log 2>&1; then
  tail -n 40 build/demo.log >&2
  exit 1
fi
echo "Built after $SECONDS s."

export PATH=$PWD/build/demo/cli:$PATH
ask() {
  printf '\n$ ddpsim %s\n' "$*"
  ddpsim "$@"
}
ask simulate resnet50-v100-b32 2xv100-nvlink --timeline out/step.pftrace
report=(--report out/tune.html)
# If ddpsim.html was built, the page has the simulator inside.
if [[ -f build/wasm/ddpsim.html ]]; then
  export DDPSIM_HTML=$PWD/build/wasm/ddpsim.html
  report+=(--interactive)
  moved='; move the cap, or drop a trace of your own on it'
else
  moved='; with the simulator inside: scripts/setup.sh --wasm --page, then preset wasm'
fi
ask tune resnet50-v100-b32 2xv100-nvlink "${report[@]}"
ddpsim simulate resnet50-v100-b32 2xv100-nvlink --json >out/result.json
ddpsim tune resnet50-v100-b32 2xv100-nvlink --json >out/tune.json

cat <<END

Page:     out/tune.html (open it in a browser: xdg-open out/tune.html; it asks nothing of the network$moved)
Timeline: out/step.pftrace (drop it on https://ui.perfetto.dev; it stays in your browser)
Numbers:  out/result.json, out/tune.json
Program:  build/demo/cli/ddpsim --help
All of this took $SECONDS s.
END
