#!/usr/bin/env bash
# Measures on one GPU what ddpsim predicts: our reducer and PyTorch's with two ranks, whole steps, the recorder, copies and
# interference. Each part writes its document after each measurement; one archive comes back.
#
#   scripts/on_gpu.sh --pack             builds what goes to the other machine, in out/on_gpu (at most 48 MB, ignored by git)
#
#   scripts/on_gpu.sh -o FOLDER          on a machine with a GPU: a probe of 90 s, then everything, 8.5 minutes at most
#
#   scripts/on_gpu.sh --rehearse         runs every part at tiny sizes on the CPU and on the simulated GPU, within 60 s
#
#   scripts/on_gpu.sh --keep FOLDER      adds the documents that came back to tests/lab/measured/gpu/CARD
#
# The machine needs Python with PyTorch for CUDA 13, torchvision and transformers, but no network. Further options go to
# scripts/on_gpu/run.py (--only PART,… · --probe · --no-probe · --seconds N). --collect PROGRAM… only copies built programs and the
# libraries they need.
set -euo pipefail
cd "$(dirname "$0")/.."
travels=${DDPSIM_ON_GPU:-out/on_gpu}

# A version of NCCL that lets ranks share a GPU. PyPI's has code for all architectures; only one is kept.
nccl_version=2.30.7 nccl_architecture=90
preset=${DDPSIM_PRESET:-release}

# collect PROGRAM…: copies the programs and the libraries they need.
collect() {
  mkdir -p "$travels"/{bin,lib,nccl}
  local program library
  for program in "$@"; do
    strip -o "$travels/bin/${program##*/}" "$program"
    # Leave out the C library, which is the machine's, and the CUDA runtime and NCCL, which come from PyTorch or are chosen later.
    ldd "$program" | awk '$3 ~ /^\// { print $3 }' | grep -v -E '/(ld-linux|lib(c|m|dl|rt|pthread|cudart|nccl))[.-][^/]*$' |
      while read -r library; do cp -Lu "$library" "$travels/lib"; done
  done
  # libarchive needs libxml2, and that needs ICU's tables: 31 MB that ddpsim never reads. An empty library replaces them.
  local tables
  for tables in "$travels"/lib/libicudata.so.*; do
    [[ -f $tables ]] || continue
    echo "const char icudt${tables##*.}_dat[4096] = {};" |
      cc -xc -shared -fPIC -nostdlib -Wl,-soname,"${tables##*/}" -o "$tables" -
  done
  strip "$travels"/lib/*.so*
}

pack() {
  scripts/setup.sh --tests --real
  command -v ccache >/dev/null && export CMAKE_CXX_COMPILER_LAUNCHER=ccache
  cmake --preset "$preset" >/dev/null
  cmake --build --preset "$preset" --parallel "$(nproc)" --target ddpsim_cli ddpsim_real_cli
  rm -rf "$travels"
  collect "build/$preset/cli/ddpsim" "build/$preset/real/ddpsim-real"
  nvcc -std=c++17 -O3 -gencode arch=compute_90,code=sm_90 -gencode arch=compute_75,code=compute_75 -Werror all-warnings \
    -Xcompiler=-fPIC,-Wall -shared -cudart static scripts/on_gpu/paced_copy.cu -o "$travels/lib/paced_copy.so"
  local fetched; fetched=$(mktemp -d)
  if python3 -m pip download -qq --no-deps -d "$fetched" "nvidia-nccl-cu13==$nccl_version"; then
    python3 -m zipfile -e "$fetched"/*.whl "$fetched/wheel"
    python3 scripts/on_gpu/thin_nccl.py "$fetched/wheel/nvidia/nccl/lib/libnccl.so.2" "$fetched/libnccl.so.2" $nccl_architecture
    strip --strip-debug "$fetched/libnccl.so.2"
    xz -T0 -6 -c "$fetched/libnccl.so.2" >"$travels/nccl/libnccl.so.2.xz"
  else
    echo "on_gpu: NCCL $nccl_version could not be downloaded. PyTorch's own is used, with one rank"
  fi
  rm -rf "$fetched"
  (cd "$travels" && tar -cf - bin lib | xz -T0 -6 >programs.tar.xz && rm -r bin lib)
  du -b --total "$travels"/programs.tar.xz "$travels"/nccl/* | tail -n 1 | awk '{ printf "on_gpu: %.1f MB to copy\n", $1 / 1e6 }'
}

# Unpacks the programs, unless they were unpacked before.
unpack() {
  [[ ! -f $travels/programs.tar.xz || -d $travels/bin ]] || python3 - "$travels" <<'PYTHON'
import lzma, pathlib, shutil, sys, tarfile
travels = pathlib.Path(sys.argv[1])
with tarfile.open(travels / "programs.tar.xz") as archive:
    archive.extractall(travels)
packed = travels / "nccl/libnccl.so.2.xz"
if packed.exists():
    with lzma.open(packed) as source, open(travels / "nccl/libnccl.so.2", "wb") as target:
        shutil.copyfileobj(source, target, 1 << 20)
PYTHON
}

case ${1:-} in
  --pack) pack ;;
  --collect) collect "${@:2}" ;;
  --rehearse)
    python=${DDPSIM_TORCH_PYTHON:-build/torch/2.13.0/bin/python}
    [[ -x $python ]] || python=python3
    exec "$python" -B scripts/on_gpu/run.py -o "${DDPSIM_REHEARSED:-out/rehearsed}" --programs "$travels" "$@" ;;
  --keep) exec python3 scripts/on_gpu/keep.py "${@:2}" ;;
  "" | -h | --help) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0" ;;
  *)
    unpack
    exec python3 -B scripts/on_gpu/run.py --programs "$travels" "$@" ;;
esac
