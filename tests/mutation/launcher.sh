#!/bin/sh
# Stands before the compiler in the build of scripts/mutate.sh. Sources that were not rewritten are compiled as preset
# `quick` does, so that a compiler cache knows them. Those with mutants are no pleasure to read: no warnings; and their
# containers check their bounds, as they do under the sanitizers, so that a read past the end is noticed where it happens.
for word; do
  case $word in
    *.cpp) if head -n 1 "$word" | grep -q mutation/switch.hpp; then
             set -- "$@" -w -Wno-narrowing -D_GLIBCXX_ASSERTIONS
           fi ;;
  esac
done
if command -v ccache >/dev/null; then exec ccache "$@"; else exec "$@"; fi
