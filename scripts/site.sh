#!/usr/bin/env bash
# Builds the documentation site in out/site: these pages, a reference of commands and documents written by the program, and
# ddpsim.html, the page with the simulator inside. The site needs no network: open out/site/index.html from disk, or serve it.
#
#   scripts/site.sh                                        builds what is missing first: the program, and the page where em++ is
#   scripts/site.sh --program PROGRAM [--page FILE] [-o FOLDER]   builds neither of them
#
# The tools come from PyPI once, into build/site-tools. Exit code 77: they are not there and could not be fetched.
set -euo pipefail
cd "$(dirname "$0")/.."

out=out/site program='' page=''
while (($#)); do
  case $1 in
    --program | --page | -o)
      [[ $# -ge 2 && -n $2 ]] || { echo "site: $1 needs a value" >&2; exit 2; } ;;&
    --program) program=$2 ;;
    --page) page=$2 ;;
    -o) out=$2 ;;
    *) sed -n '5,6s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
  shift 2
done

tools=build/site-tools
if ! cmp -s scripts/site_tools.txt "$tools/installed.txt"; then
  echo "site: installing mkdocs-material in $tools"
  mkdir -p build
  if ! { python3 -m venv --clear "$tools" && "$tools/bin/pip" install -qq --retries 1 -r scripts/site_tools.txt &&
    cp scripts/site_tools.txt "$tools/installed.txt"; }; then
    rm -rf "$tools"
    echo "site: mkdocs-material could not be installed. Connect to PyPI once and run this again." >&2
    exit 77
  fi
fi

if [[ -z $program ]]; then
  mkdir -p build/site
  program=build/release/cli/ddpsim page=build/wasm/ddpsim.html
  echo "site: building the program (log: build/site/build.log)"
  { cmake --preset release && cmake --build --preset release --target ddpsim_cli; } >build/site/build.log 2>&1 ||
    { tail -n 20 build/site/build.log >&2; exit 1; }
  if command -v em++ >/dev/null; then
    echo "site: building ddpsim.html (log: build/site/page.log)"
    { cmake --preset wasm && cmake --build --preset wasm; } >build/site/page.log 2>&1 ||
      { tail -n 20 build/site/page.log >&2; exit 1; }
  fi
fi

with_page=()
if [[ -f $page ]]; then
  with_page=(--page "$page")
else
  echo "site: without ddpsim.html; scripts/setup.sh --wasm --page installs what builds it"
fi
python3 scripts/site_pages.py "${with_page[@]}" -o build/site/pages "$program"
# The theme's notice about other programs is of no use to readers here.
if ! NO_MKDOCS_2_WARNING=1 "$tools/bin/mkdocs" build --strict --config-file mkdocs.yml --site-dir "$(realpath -m "$out")" >build/site/mkdocs.log 2>&1; then
  cat build/site/mkdocs.log >&2
  exit 1
fi
echo "site: $out/index.html"
