#!/usr/bin/env bash
# Installs the packages that building ddpsim needs and this machine lacks. Options add more:
#
#   --tests        what the tests need, including MPI
#
#   --torch        PyTorch for CPUs, for the tests that train: version 1.13 from Debian 12 (59 MB to download), and if pip finds
#                  it, a newer one in build/torch (192 MB)
#
#   --real         gloo and libtorch, with which ddpsim-real runs real reducers on a CPU, tools for the lab of shaped links, and
#                  mpirun. If there is nvcc but no NCCL, NCCL is installed in build/nccl (300 MB).
#
#   --page         esbuild and TypeScript, which make the page of --report; to test it, Chromium, and playwright and axe in
#                  build/page (50 MB)
#
#   --python       in build/python-tools, what checks the Python package and makes its wheel: type checkers, pandas, matplotlib,
#                  notebooks and ruff (165 MB)
#
#   --frameworks   PyTorch Lightning, transformers and Accelerate with their own PyTorch, in build/frameworks (1.2 GB there)
#
#   --wasm         Emscripten (500 MB), and in build/sources Debian's sources of the libraries to compile with it (3 MB to download)
#
#   --portable     the same sources and those of SQLite; if pip finds them, zig (a compiler for any Linux, 101 MB) and tools that
#                  make wheels, in build/portable-tools
#
#   --release      the same as --portable, and an emulator and shells, with which the files of scripts/release.sh are checked
set -euo pipefail

# Each package, and a command that shows that it is installed, even from elsewhere ("-": ask dpkg).
needed=(g++ g++  cmake cmake  ninja-build ninja  nlohmann-json3-dev -  libfmt-dev -  libcli11-dev -
        libsimdjson-dev -  zlib1g-dev -  libsqlite3-dev -  libarchive-dev -  libprotozero-dev -  libboost-dev -
        libpugixml-dev -  libeigen3-dev -)
newer_torch='' real=false page=false python=false frameworks=false wasm=false portable=false
for option; do
  case $option in
    --tests)
      needed+=(doctest-dev -  libbenchmark-dev -  python3 python3  protobuf-compiler protoc  libopenmpi-dev -  openmpi-bin mpirun
               ccache ccache  clang clang++  libclang-rt-dev -  clang-format clang-format  clang-tidy clang-tidy
               zsh zsh  fish fish  groff groff  python3-jsonschema -) ;;
    --torch) needed+=(python3-torch -  python3-torchvision -); newer_torch=2.13.0 ;;
    --real) real=true
            needed+=(libgloo-dev -  libtorch-dev -  iproute2 -  util-linux unshare  openmpi-bin mpirun) ;;
    --page) page=true; needed+=(esbuild esbuild  node-typescript tsc  chromium chromium) ;;
    --python) python=true ;;
    --frameworks) frameworks=true ;;
    --wasm) wasm=true
            needed+=(emscripten em++  libfast-float-dev -  nodejs node  dpkg-dev dpkg-source) ;;
    --portable) portable=true; needed+=(tcl tclsh  dpkg-dev dpkg-source) ;;
    --release) portable=true
               needed+=(tcl tclsh  dpkg-dev dpkg-source  qemu-user qemu-aarch64  libc6-arm64-cross -
                        zsh zsh  fish fish  groff groff  lintian lintian) ;;
    *) echo "usage: scripts/setup.sh [--tests] [--torch] [--real] [--page] [--python] [--frameworks] [--wasm] [--portable] [--release]" >&2
       exit 2 ;;
  esac
done

# Installs a newer PyTorch, which Debian does not have, in a virtual environment that the tests look for.
install_newer_torch() {
  local place; place=$(cd "$(dirname "$0")/.." && pwd)/build/torch/$newer_torch
  [[ -x $place/bin/python ]] && "$place/bin/python" -W ignore -c 'import torch' 2>/dev/null && return
  echo "setup: installing PyTorch $newer_torch for CPUs in $place"
  mkdir -p "${place%/*}"
  python3 -m venv "$place" &&
    "$place/bin/pip" install -qq --retries 1 "torch==$newer_torch" && return
  rm -rf "$place"
  echo "setup: PyTorch $newer_torch could not be installed; tests only train with Debian's PyTorch"
}
[[ -z $newer_torch ]] || install_newer_torch

# Installs playwright, which drives a browser, in a virtual environment: Debian does not have it.
install_playwright() {
  local place; place=$(cd "$(dirname "$0")/.." && pwd)/build/page
  [[ -x $place/bin/python ]] && "$place/bin/python" -c 'import playwright, axe_playwright_python' 2>/dev/null && return
  echo "setup: installing playwright in $place"
  python3 -m venv "$place" &&
    "$place/bin/pip" install -qq --retries 1 playwright axe-playwright-python && return
  rm -rf "$place"
  echo "setup: playwright could not be installed; the page of --report is not tested"
}
if $page; then install_playwright; fi

# The versions are pinned, because another version of a type checker or formatter reports other problems.
install_python_tools() {
  local root place; root=$(cd "$(dirname "$0")/.." && pwd); place=$root/build/python-tools
  cmp -s "$root/scripts/python_tools.txt" "$place/installed.txt" && return
  echo "setup: installing ruff, mypy, basedpyright, pandas, matplotlib and Jupyter in $place"
  python3 -m venv --clear "$place" &&
    "$place/bin/pip" install -qq --retries 1 -r "$root/scripts/python_tools.txt" &&
    cp "$root/scripts/python_tools.txt" "$place/installed.txt" && return
  rm -rf "$place"
  echo "setup: they could not be installed; the format, types, frames, plots and notebook of Python are not checked"
}
if $python; then install_python_tools; fi

# The versions are pinned, because the callbacks use internals of these packages. PyTorch comes first, or they install another one.
install_frameworks() {
  local root place; root=$(cd "$(dirname "$0")/.." && pwd); place=$root/build/frameworks
  cmp -s "$root/scripts/frameworks.txt" "$place/installed.txt" && return
  echo "setup: installing PyTorch Lightning, transformers and Accelerate in $place"
  python3 -m venv --clear "$place" &&
    "$place/bin/pip" install -qq --retries 1 "$(grep '^torch==' "$root/scripts/frameworks.txt")" &&
    "$place/bin/pip" install -qq --retries 1 -r "$root/scripts/frameworks.txt" &&
    cp "$root/scripts/frameworks.txt" "$place/installed.txt" && return
  rm -rf "$place"
  echo "setup: they could not be installed; autotune is not tested with them"
}
if $frameworks; then install_frameworks; fi

# Installs NCCL for the major version of the CUDA toolkit. NVIDIA's wheel has only a header and a library, so any Python will do.
install_nccl() {
  local nvcc; nvcc=$(command -v nvcc || ls "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" 2>/dev/null) || return 0
  local major; major=$("$nvcc" --version | sed -nE 's/.*release ([0-9]+).*/\1/p')
  local root; root=$("$nvcc" --dryrun -x cu -c /dev/null 2>&1 | sed -nE 's/.*TOP=//p')
  local place; place=$(cd "$(dirname "$0")/.." && pwd)/build/nccl/cu$major
  local header
  for header in "${NCCL_HOME:-$root}/include/nccl.h" "$root/include/nccl.h" /usr/include/nccl.h "$place/nvidia/nccl/include/nccl.h"; do
    [[ -f $header ]] && return
  done
  echo "setup: installing NCCL for CUDA $major in $place"
  mkdir -p "$place"
  local pip
  for pip in "python3 -m pip" "$place/environment/bin/pip"; do
    [[ $pip == python3* ]] || python3 -m venv "$place/environment" || break
    $pip install -qq --retries 1 --no-deps --target "$place" "nvidia-nccl-cu$major" && return
  done
  rm -rf "$place"
  echo "setup: NCCL could not be installed; ddpsim-real is built without cuda-nccl, and its tests are skipped"
}
if $real; then install_nccl; fi

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  echo "setup: apt was not found, so nothing was installed. Install a C++20 compiler (GCC 12 or clang 14),"
  echo "       CMake 3.25, Ninja, headers of zlib, SQLite, libarchive and Boost; other libraries are fetched when not found."
  exit 0
fi

installed() { [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

missing=()
for ((i = 0; i < ${#needed[@]}; i += 2)); do
  package=${needed[i]} program=${needed[i + 1]}
  [[ $program != - ]] && command -v "$program" >/dev/null && continue
  installed "$package" || missing+=("$package")
done
if [[ ${#missing[@]} -gt 0 ]]; then
  as_root=()
  [[ $(id -u) -ne 0 ]] && as_root=(sudo)
  echo "setup: installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null
fi

# fetch_sources PLACE PACKAGE…: fetches source packages from the machine's own sources of packages. It uses package lists of its own,
# so those of the machine do not change.
fetch_sources() {
  local place=$1 apt name; shift
  apt=$(mktemp -d)
  mkdir -p "$apt"/{parts,lists/partial,cache/archives/partial}
  for name in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [[ -f $name ]] && sed -n 's/^deb /deb-src /p' "$name" >"$apt/parts/${name##*/}"
  done
  for name in /etc/apt/sources.list.d/*.sources; do
    [[ -f $name ]] && sed 's/^Types:.*/Types: deb-src/' "$name" >"$apt/parts/${name##*/}"
  done
  local -a options=(-qq -o "Dir::Etc::SourceList=/dev/null" -o "Dir::Etc::SourceParts=$apt/parts"
                    -o "Dir::State::Lists=$apt/lists" -o "Dir::Cache=$apt/cache" -o "APT::Sandbox::User=")
  apt-get "${options[@]}" update 2>/dev/null || true  # some lists have no source packages
  mkdir -p "$place"
  for name; do
    (cd "$apt" && apt-get "${options[@]}" source --download-only "$name" >/dev/null &&
      dpkg-source --no-check --no-copy -x "$name"_*.dsc "$place/$name" >/dev/null) || rm -rf "${place:?}/$name"
  done
  rm -rf "$apt"
}
if $wasm || $portable; then
  place=$(cd "$(dirname "$0")/.." && pwd)/build/sources
  lacking=()
  for name in zlib simdjson pugixml $($portable && echo sqlite3); do [[ -d $place/$name ]] || lacking+=("$name"); done
  if [[ ${#lacking[@]} -gt 0 ]]; then
    echo "setup: fetching the sources of ${lacking[*]}"
    fetch_sources "$place" "${lacking[@]}"
  fi
fi
# SQLite's own build makes its single source file.
if $portable && [[ -d $place/sqlite3 && ! -f $place/sqlite3/sqlite3.c ]]; then
  (cd "$place/sqlite3" && ./configure --disable-tcl --disable-readline >/dev/null && make sqlite3.c >/dev/null)
fi
# The versions are pinned, because another compiler gives other bytes.
install_portable_tools() {
  local place=${place%/*}/portable-tools
  [[ -f $place/installed ]] && return
  echo "setup: installing zig and tools for wheels in $place"
  rm -rf "$place"
  python3 -m venv "$place" &&
    "$place/bin/pip" install -qq --retries 1 ziglang==0.17.1 scikit-build-core==1.1.2 auditwheel==6.8.2 &&
    touch "$place/installed" && return
  rm -rf "$place"
  echo "setup: zig could not be installed; there is no portable build"
}
if $portable; then install_portable_tools; fi
