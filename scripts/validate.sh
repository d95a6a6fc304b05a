#!/usr/bin/env bash
# Measures your cluster and compares the results with ddpsim's predictions. It needs no root. Run it on every rank:
#
#   one node       scripts/validate.sh --ranks 2
#   several nodes  mpirun -np 16 --map-by ppr:8:node -x MASTER_ADDR=HOST0 scripts/validate.sh
#                  srun --ntasks-per-node=8 --export=ALL,MASTER_ADDR=HOST0 scripts/validate.sh
#
# Rank 0 writes ddpsim-validation.tar.gz with the topology, all-reduces, a sweep of bucket caps with timelines, and the error table.
# The list of files is shown before the archive is written. Hosts are called node0, node1, … in it. It has no names of users, files
# or folders, no addresses, and only settings that affect performance. Of your model it has bytes of buckets and times only. The
# format is that of scripts/collect.sh (ddpsim.collect/1), so you can give it to ddpsim as the cluster.
set -euo pipefail

workload=resnet50-v100-b32 backend=cuda-nccl caps=1,5,10,25,50,100 sizes=64KiB,256KiB,1MiB,4MiB,16MiB,64MiB,256MiB
cluster='' torch=2.8 out=ddpsim-validation ranks=()
usage() {
  sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"
  cat <<'TEXT'

options: --ranks N (start N ranks here)   --workload WORKLOAD   --cluster CLUSTER (predict for it; without it, measure only)
         --backend cuda-nccl|cpu-gloo     --caps LIST           --sizes LIST      --torch VERSION   -o FOLDER
TEXT
}
while (($#)); do
  case $1 in
    --ranks | --workload | --cluster | --backend | --caps | --sizes | --torch | -o)
      [[ $# -ge 2 && -n $2 ]] || { printf 'validate: %s needs a value\n\n' "$1" >&2; usage >&2; exit 2; } ;;&
    --ranks) ranks=(--ranks "$2") ;;
    --workload) workload=$2 ;;
    --cluster) cluster=$2 ;;
    --backend) backend=$2 ;;
    --caps) caps=$2 ;;
    --sizes) sizes=$2 ;;
    --torch) torch=$2 ;;
    -o) out=$2 ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
  shift 2
done

given_cluster=$cluster

here=$(cd "$(dirname "$0")/.." && pwd)
# find_program NAME BUILD_PATH: prints the path of a program on PATH or in the build.
find_program() {
  command -v "$1" || { [[ -x $here/build/release/$2 ]] && echo "$here/build/release/$2"; } ||
    { echo "validate: $1 is neither installed nor built. Run: cmake --preset release && cmake --build --preset release" >&2
      exit 1; }
}
ddpsim=$(find_program ddpsim cli/ddpsim)
real=$(find_program ddpsim-real real/ddpsim-real)
rank=${RANK:-${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${SLURM_PROCID:-0}}}}

[[ $rank =~ ^[0-9]{1,7}$ ]] ||  # it becomes part of file names
  { printf 'validate: the environment has %q for a rank. Set it, such as RANK=0\n' "$rank" >&2; exit 2; }

note() { [[ $rank != 0 ]] || echo "validate: $*"; }
if [[ $rank == 0 ]]; then
  mkdir -p "$out"
  nvidia-smi topo -m >"$out/topology.txt" 2>&1 || echo "no nvidia-smi" >"$out/topology.txt"
  { uname -srm; date -u +%FT%TZ; nvidia-smi --query-gpu=index,name,driver_version,pcie.link.gen.current,pcie.link.width.current,clocks.sm \
      --format=csv 2>&1 || true; "$here/scripts/job_archive.py" environment || true; } >"$out/environment.txt"
  # The sweep below also writes NCCL's view of the machine.
  if [[ ${#ranks[@]} -gt 0 ]] && command -v all_reduce_perf >/dev/null; then
    note "all_reduce_perf"
    all_reduce_perf -b 64K -e 256M -f 4 -g "${ranks[1]}" >"$out/all_reduce_perf.txt" 2>&1 || note "all_reduce_perf failed; see all_reduce_perf.txt"
  fi
fi

note "bucket caps $caps of $workload on $backend"
[[ $backend != cuda-nccl || $rank != 0 ]] || export NCCL_TOPO_DUMP_FILE=$out/nccl-topology.xml
"$real" "$workload" --backend "$backend" --caps "$caps" --views both --torch "$torch" --all-reduce "$sizes" "${ranks[@]}" \
  -o "$out/measured" --csv >"$out/measured-$rank.csv" 2> >(tee "$out/messages-$rank.txt" >&2)
if [[ $rank != 0 ]]; then  # other ranks print nothing
  rm -f "$out/measured-$rank.csv" "$out/messages-$rank.txt"
  exit 0
fi

if [[ -n $cluster ]]; then
  log=$out/measured/all_reduce.txt
  [[ ! -s $out/all_reduce_perf.txt ]] || log=$out/all_reduce_perf.txt
  if "$ddpsim" calibrate --help >/dev/null 2>&1 &&
    "$ddpsim" calibrate "$log" --cluster "$cluster" -o "$out/calibrated.json" >"$out/calibration.txt" 2>&1; then
    note "calibrated from ${log##*/}"
    cluster=$out/calibrated.json
  else
    note "not calibrated (see calibration.txt, if it exists): link speeds of $cluster come from data sheets"
  fi
  note "predictions for $cluster"
  "$here/scripts/validation_table.py" --program "$ddpsim" --workload "$workload" --cluster "$cluster" --torch "$torch" \
    "$out/measured/measurement.json" | tee "$out/errors.txt"
fi
hide=(--hide "$out")
[[ ! -e $workload ]] || hide+=(--hide "$workload" --hide-workload)
[[ -z $given_cluster || ! -e $given_cluster ]] || hide+=(--hide "$given_cluster")
"$here/scripts/job_archive.py" pack "$out" "$out.tar.gz" "${hide[@]}" ||
  { note "not packed, which needs python3 3.9 or newer. The measurements are in $out"; exit 1; }
note "done: $out.tar.gz"
