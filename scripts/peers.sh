#!/usr/bin/env bash
# Compares the speed of our flow network with its peers on one job: ten 25 MiB all-reduces around a ring, one after another.
#
#   scripts/peers.sh [RANKS …]        default: 8 64 256 1024 (SimGrid needs minutes for 1024)
#
# ring_floor is the least work of a simulator of single messages: one event per message, and no links. SimGrid runs the
# same job as ring_s4u on a fat tree (Debian: libsimgrid-dev). Our flow network runs on that tree and on the uniform ring.
# The sources of the peers are in DDPSIM_PEERS (default: ../shared/peers). A peer without sources is skipped with a note.
set -euo pipefail
cd "$(dirname "$0")/.."
peers=$(realpath -m "${DDPSIM_PEERS:-../shared/peers}")
[[ -f $peers/ring_floor.cpp ]] || { echo "peers: skipped, because $peers has no ring_floor.cpp"; exit 0; }
ranks=("$@"); [[ $# -gt 0 ]] || ranks=(8 64 256 1024)
rounds=${DDPSIM_ROUNDS:-3}

cmake --preset release -DDDPSIM_BENCHMARKS=ON >/dev/null
cmake --build build/release --target ddpsim_ring_anchor >/dev/null
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
ours=$PWD/build/release/tests/bench/ddpsim_ring_anchor
g++ -O3 -march=native -std=c++20 "$peers/ring_floor.cpp" -o "$work/floor"
simgrid=yes
g++ -O3 -std=c++17 "$peers/ring_s4u.cpp" -o "$work/s4u" -lsimgrid 2>/dev/null || simgrid=
[[ $simgrid ]] || echo "peers: SimGrid is skipped, because libsimgrid-dev is not installed"

# run NAME COMMAND …: appends user seconds and MiB to NAME.times, and writes the simulated milliseconds to NAME.sim.
run() {
  local name=$1; shift
  /usr/bin/time -f '%U %M' -o "$work/usage" "$@" >"$work/out" 2>"$work/err"
  tail -1 "$work/usage" | awk '{ printf "%.3f %.1f\n", $1, $2 / 1024 }' >>"$work/$name.times"
  grep -oP 'sim_ms=\K[0-9.]+' "$work/out" >"$work/$name.sim"
}
median() { cut -d' ' -f1 "$work/$1.times" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
memory() { cut -d' ' -f2 "$work/$1.times" | sort -n | tail -1; }
# row NAME LABEL OURS: prints a row of the table.
row() {
  local ratio
  ratio=$(awk -v a="$(median "$3")" -v b="$(median "$1")" 'BEGIN { if (a >= 0.02) printf "%.2f", b / a; else print "-" }')
  printf '%6s  %-22s %12s %10s %9s   %s\n' "$n" "$2" "$(cat "$work/$1.sim")" "$(median "$1")" "$(memory "$1")" "$ratio"
}

printf '%6s  %-22s %12s %10s %9s   %s\n' ranks simulator 'predicts ms' 'user s' 'peak MiB' 'user time over ours'
for n in "${ranks[@]}"; do
  rm -f "$work"/*.times
  [[ $simgrid ]] && (cd "$work" && bash "$peers/gen_plat.sh" "$n")
  for ((round = 0; round < rounds; round++)); do
    run ring "$ours" "$n" 25 10 ring full
    run floor "$work/floor" "$n" 25 10
    run tree "$ours" "$n" 25 10 fat-tree full
    run skip "$ours" "$n" 25 10 fat-tree skip
    # 1024 ranks take minutes, so they run once.
    [[ $simgrid && ($round -eq 0 || $n -lt 1024) ]] &&
      run s4u "$work/s4u" "$work/ft_$n.xml" "$n" 25 10 1 actor --log=root.thres:error --cfg=contexts/stack-size:32 \
        --cfg=network/model:CM02 --cfg=network/TCP-gamma:0 --cfg=network/crosstraffic:0
  done
  row ring 'ours, ring' ring
  row floor 'floor, ring' ring
  row tree 'ours, fat tree' tree
  [[ $simgrid ]] && row s4u 'SimGrid, fat tree' tree
  row skip 'ours, fat tree, skip' tree
done
