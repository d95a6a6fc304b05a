#!/bin/sh
# Stands before the compiler in the build of scripts/mutate.sh. What was not rewritten is compiled as preset `quick` does,
# so that a compiler cache knows it. Sources with mutants, alone or among those CMake compiles as one, are no pleasure to
# read: no warnings; and their containers check their bounds, as they do under the sanitizers, so that a read past the end
# is noticed where it happens.
for word; do
  case $word in
    *.cpp) first_lines=$(head -n 1 "$word") ;;
    */Unity/*.cxx) first_lines=$(sed -n 's/^#include "\(.*\)"$/\1/p' "$word" | xargs head -qn 1) ;;
    *) continue ;;
  esac
  case $first_lines in
    *mutation/switch.hpp*) set -- "$@" -w -Wno-narrowing -D_GLIBCXX_ASSERTIONS ;;
  esac
done
if command -v ccache >/dev/null; then exec ccache "$@"; else exec "$@"; fi
