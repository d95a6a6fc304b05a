#!/usr/bin/env bash
# Makes the files of a release for x86-64 and ARM. They are the portable program as wheel, tarball and .deb, its bill of materials with
# licences, and SHA256SUMS. The packages also have the manual, completions and JSON Schemas.
#
#   scripts/release.sh [-o FOLDER] [x86_64] [aarch64]        default: out/release, both
#
# The same commit gives the same bytes in any folder. scripts/setup.sh --release installs what this needs. If ddpsim.html was built with
# the preset wasm, it is included.
set -euo pipefail
cd "$(dirname "$0")/.."
usage="usage: scripts/release.sh [-o FOLDER] [x86_64] [aarch64]"
output=out/release targets=()
while (($#)); do
  case $1 in
    -o) [[ -n ${2-} ]] || { echo "$usage" >&2; exit 2; }
        output=$2; shift ;;
    x86_64 | aarch64) targets+=("$1") ;;
    *) echo "$usage" >&2; exit 2 ;;
  esac
  shift
done
((${#targets[@]})) || targets=(x86_64 aarch64)
python=$PWD/build/portable-tools/bin/python
[[ -x $python ]] || { echo "release: build/portable-tools is missing. Run: scripts/setup.sh --release" >&2; exit 1; }

SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH LC_ALL=C.UTF-8 TZ=UTC PYTHONDONTWRITEBYTECODE=1
umask 022
maintainer=$(git log -1 --format='%an <%ae>')
version=$(sed -nE 's/^project\(ddpsim VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
rm -rf "$output"
mkdir -p "$output"
output=$(realpath "$output")
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

# program_of TARGET: builds the program and prints its path.
program_of() {
  local preset=portable
  [[ $1 == x86_64 ]] || preset=portable-$1
  # Switch ccache off, even if the folder was configured with it. It may shorten paths that end up in the program, and zig has a
  # cache of its own.
  cmake --preset "$preset" -DCMAKE_C_COMPILER_LAUNCHER= -DCMAKE_CXX_COMPILER_LAUNCHER= >/dev/null
  cmake --build --preset "$preset" --parallel "$(nproc)" --target ddpsim_cli >"$stage/build.log" ||
    { cat "$stage/build.log"; return 1; } >&2
  echo "$PWD/build/$preset/cli/ddpsim"
}
# runs TARGET PROGRAM: prints the command that runs the program of TARGET on this machine.
runs() {
  if [[ $1 == "$(uname -m)" ]]; then echo "$2"; else echo "qemu-$1 -L /usr/$1-linux-gnu $2"; fi
}

# prefix_of TARGET PROGRAM: makes the files of an installation in $stage/TARGET.
prefix_of() {
  local prefix=$stage/$1
  install -D -m 755 "$2" "$prefix/bin/ddpsim"
  cp -r "$stage/pages/share" "$prefix/share"
  mkdir "$prefix/share/ddpsim"
  cp -r "$stage/package/schemas" "$prefix/share/ddpsim/schemas"
  if [[ -f build/wasm/ddpsim.html ]]; then install -D -m 644 build/wasm/ddpsim.html "$prefix/share/ddpsim/ddpsim.html"; fi
  mkdir -p "$prefix/share/doc/ddpsim"
  cp "$stage"/notices/{licenses/libraries.txt,sboms/ddpsim.cdx.json} "$prefix/share/doc/ddpsim/"
}

tarball() {  # tarball TARGET
  local name=ddpsim-$version-linux-$1
  tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --transform="s,^\.,$name," \
    -C "$stage/$1" -cf - . | gzip -9n >"$output/$name.tar.gz"
}

deb() {  # deb TARGET
  local architecture=amd64 root=$stage/deb-$1 doc
  [[ $1 == x86_64 ]] || architecture=arm64
  doc=$root/usr/share/doc/ddpsim
  mkdir -p "$root/DEBIAN"
  cp -r "$stage/$1" "$root/usr"
  mkdir -p "$root/usr/share/zsh/vendor-completions"
  mv "$root"/usr/share/zsh/{site-functions/_ddpsim,vendor-completions/}
  rmdir "$root/usr/share/zsh/site-functions"
  cat >"$doc/copyright" <<END
No licence was chosen for ddpsim itself. libraries.txt in this folder has the licences and copyrights of the libraries that are linked
into it, ddpsim.cdx.json their versions. Of those under the Apache License 2.0, its text is in /usr/share/common-licenses/Apache-2.0.
END
  printf 'ddpsim (%s) unstable; urgency=medium\n\n  * As of the commit of this date.\n\n -- %s  %s\n' "$version" "$maintainer" \
    "$(date -u -R -d "@$SOURCE_DATE_EPOCH")" >"$doc/changelog"
  gzip -9n "$doc/changelog" "$root"/usr/share/man/man1/*.1
  cat >"$root/DEBIAN/control" <<END
Package: ddpsim
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $(du -sk --apparent-size "$root/usr" | cut -f1)
Depends: libc6 (>= 2.17)
Section: science
Priority: optional
Description: simulator of PyTorch DistributedDataParallel training steps
 ddpsim replays one training step of PyTorch DistributedDataParallel from a
 recording of one rank. It predicts that step on another cluster, or with
 another bucket_cap_mb, without a GPU at hand.
END
  (cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
  find "$root" -type d -exec chmod 755 {} +
  dpkg-deb --root-owner-group -Zxz --build "$root" "$output/ddpsim_${version}_$architecture.deb" >/dev/null
}

wheel() {  # wheel TARGET PROGRAM
  "$python" -m pip wheel -q --no-build-isolation --no-deps --no-index -w "$output" . -C "build-dir=$stage/wheel-$1" \
    -C "cmake.define.DDPSIM_PREBUILT=$2" -C "cmake.define.DDPSIM_GENERATED=$stage/package" \
    -C "cmake.define.DDPSIM_NOTICES=$stage/notices" \
    -C "wheel.tags=py3-none-manylinux_2_17_$1;py3-none-manylinux2014_$1"
}

python3 scripts/bill_of_materials.py "$version" -o "$stage/notices"
for target in "${targets[@]}"; do
  program=$(program_of "$target")
  if [[ ! -d $stage/pages ]]; then  # all targets have the same pages
    python3 scripts/command_pages.py -o "$stage/pages" $(runs "$target" "$program")
    python3 scripts/python_package.py -o "$stage/package" $(runs "$target" "$program")
  fi
  prefix_of "$target" "$program"
  tarball "$target"
  deb "$target"
  wheel "$target" "$program"
done
cp "$stage/notices/sboms/ddpsim.cdx.json" "$output/ddpsim-$version.cdx.json"
(cd "$output" && sha256sum -- * >"$stage/SHA256SUMS" && mv "$stage/SHA256SUMS" .)
ls -l "$output"
