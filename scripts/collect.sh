#!/usr/bin/env bash
# Collects the evidence for why a job is as fast as it is, into one archive. It needs no root, and nothing leaves the machine.
#
#   From files you have:   scripts/collect.sh --trace 'log/*.json.gz' --nccl-log job.out --step-time 104ms
#
#   From a recorded run:   scripts/collect.sh --run 'torchrun --nproc_per_node 8 train.py'
#
#   On several nodes:      srun --ntasks-per-node=8 scripts/collect.sh --run 'python train.py' -o SHARED_FOLDER
#                          mpirun -np 16 --map-by ppr:8:node scripts/collect.sh --run 'python train.py' -o SHARED_FOLDER
#
# Rank 0 writes ddpsim-collect.tar.gz. It holds:
#
#   - of the job: traces, DDP's logging data, NCCL's debug log and topology, and the step time without a profiler
#   - of the GPUs: nvidia-smi, PCIe links, clocks, power limits, and a short all_reduce_perf
#   - of the nodes: rates and MTU of NICs, versions, cores, and environment variables that affect speed
#   - a list of what was not found
#
# The list of files is shown before the archive is written. Hosts are called node0, node1, … in it. It has no names of users, files
# or folders, and no addresses. Give it to ddpsim as the workload, as the cluster, or as both.
set -euo pipefail

out=ddpsim-collect command='' seconds=110 given=()
usage() {
  sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"
  cat <<'TEXT'

options: --trace PATTERN     traces of torch.profiler or ddpsim_recorder.py, one of each rank
         --ddp-log PATTERN   files written by json.dump(model._get_ddp_logging_data())
         --nccl-log PATTERN  logs of a run with NCCL_DEBUG=INFO
         --topology FILE     the file that NCCL wrote to NCCL_TOPO_DUMP_FILE
         --all-reduce FILE   output of all_reduce_perf, if it cannot run here
         --step-time TIME    104ms, 9.6it/s, FILE, FILE:KEY or FILE:KEY=UNIT
         --batch-size N      samples per GPU and step
         --run COMMAND       a command that trains with DDP; it is recorded
         --seconds N         time limit of the command (default: 110)
         -o FOLDER           a folder shared by all nodes; the archive is FOLDER.tar.gz
TEXT
}
while (($#)); do
  case $1 in
    --trace | --ddp-log | --nccl-log | --topology | --all-reduce | --step-time | --batch-size | --run | --seconds | -o)
      [[ $# -ge 2 && -n $2 ]] || { printf 'collect: %s needs a value\n\n' "$1" >&2; usage >&2; exit 2; } ;;&
    --run) command=$2 ;;
    --seconds) seconds=$2 ;;
    -o) out=$2 ;;
    -h | --help) usage; exit 0 ;;
    --trace | --ddp-log | --nccl-log | --topology | --all-reduce | --step-time | --batch-size) given+=("$1" "$2") ;;
    *) usage >&2; exit 2 ;;
  esac
  shift 2
done
[[ $seconds =~ ^[1-9][0-9]{0,6}$ ]] || { usage >&2; exit 2; }

here=$(cd "$(dirname "$0")" && pwd)
python=$(command -v python3 || command -v python) || { echo "collect: Python was not found. Install python3" >&2; exit 1; }
rank=${RANK:-${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${SLURM_PROCID:-0}}}}
ranks=${WORLD_SIZE:-${OMPI_COMM_WORLD_SIZE:-${PMI_SIZE:-${SLURM_NTASKS:-1}}}}
local_rank=${LOCAL_RANK:-${OMPI_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-${SLURM_LOCALID:-0}}}}
wait=${DDPSIM_COLLECT_WAIT:-60}  # seconds, for ranks of other nodes
# These values become names of folders and numbers of bash. Bash would run commands in them, so only digits are allowed.
whole='^(0|[1-9][0-9]{0,6})$'
for number in "$rank" "$ranks" "$wait"; do
  [[ $number =~ $whole ]] || {
    printf 'collect: the environment has %q for a rank, the number of ranks or seconds. Set them, such as RANK=0 WORLD_SIZE=1\n' "$number" >&2
    exit 2
  }
done
run_name=${SLURM_JOB_ID:-}${SLURM_STEP_ID:-}${PMIX_NAMESPACE:-}${TORCHELASTIC_RUN_ID:-}${MASTER_PORT:-}
[[ $ranks != 1 ]] || run_name=alone$$
parts=$out/parts-$(tr -cd 'A-Za-z0-9' <<<"${run_name:-ranks}")
(umask 077 && mkdir -p "$parts")
# Others who can write to this folder could plant links, through which your files would be overwritten or packed.
[[ ! -L $parts && -z $(find "$parts" -maxdepth 0 -perm /022) ]] ||
  { printf 'collect: %q is a link, or others can write to it. Remove it, or name a folder of your own with -o FOLDER\n' "$parts" >&2; exit 1; }
parts=$(cd "$parts" && pwd)
mine=$parts/rank$rank
# A launcher starts ranks that leave folders of their own. A rank with this number may run on another node, so the name differs.
[[ -z $command ]] || mine=$parts/launcher$rank
mkdir -p "$mine"

set -E
trap 'printf "collect: stopped for the reason above. If %q is full, name another folder with -o FOLDER\n" "$parts" >&2' ERR

note() { [[ $rank != 0 ]] || echo "collect: $*"; }
# Prints the number of ranks that the ranks themselves reported, else $1.
world() {
  local said; said=$(head -c 8 "$parts/world" 2>/dev/null || true)
  [[ $said =~ $whole && $said != 0 ]] && echo "$said" || echo "$1"
}
lack() { printf '%s\t%s\n' "$1" "$2" >>"$mine/missing.txt"; }
within() { timeout -k 5 "$@"; }

# Names of this host and user, so that they can be replaced. The file is never packed.
{ echo "host=$(hostname 2>/dev/null || uname -n)"; echo "fqdn=$(within 5 hostname -f 2>/dev/null || true)"
  echo "user=${USER:-$(id -un 2>/dev/null || true)}"; echo "home=${HOME:-}"; echo "cwd=$PWD"; echo "out=$out"; } >"$mine/host"

note_rank() {
  [[ -s $mine/environment.txt ]] || "$python" "$here/job_archive.py" environment >"$mine/environment.txt"
  [[ -s $mine/pinning.txt ]] || { echo "cores=$(nproc --all)"
    sed -n 's/^Cpus_allowed_list:[[:space:]]*/Cpus_allowed_list=/p' /proc/self/status; } >"$mine/pinning.txt"
  [[ -s $mine/versions.txt ]] || within 60 "$python" - >"$mine/versions.txt" 2>/dev/null <<'PYTHON' || true
import sys
print(f"python={sys.version.split()[0]}\nseen_by=collect.sh")  # the job may use another Python
import torch
print(f"torch={torch.__version__}")
if torch.version.cuda:
    print(f"cuda={torch.version.cuda}")
    print("nccl=" + ".".join(map(str, torch.cuda.nccl.version())))
PYTHON
  echo "kernel=$(uname -r)" >>"$mine/versions.txt"
}

sysfs=${DDPSIM_SYSFS:-/sys}  # tests use another tree
# show FILE…: prints "path: value" for each file that is not empty.
show() {
  local file value
  for file; do
    value=$(cat "$file" 2>/dev/null) || continue
    [[ -z $value ]] || echo "/sys/${file#"$sysfs"/}: $value"
  done
}

# Lists GPUs and NICs, and no other devices.
list_devices() {
  local device class name
  for device in "$sysfs"/bus/pci/devices/*; do
    class=$(cat "$device/class" 2>/dev/null || true)
    case $class in
      0x0300* | 0x0302* | 0x0200* | 0x0207*)
        show "$device"/{class,vendor,device,current_link_speed,current_link_width,max_link_speed,max_link_width,numa_node} ;;
    esac
  done
  show "$sysfs"/class/infiniband/*/{hca_type,board_id} "$sysfs"/class/infiniband/*/ports/*/{rate,state,phys_state,link_layer}
  show "$sysfs"/class/infiniband/*/device/{current_link_speed,current_link_width,max_link_speed,max_link_width,numa_node}
  for device in "$sysfs"/class/net/*; do
    name=${device##*/}
    # Only names that kernels give are shown. Names by an administrator are not, nor enx with the address of a card.
    [[ -e $device/device && $name =~ ^(eth|en[ops]|ib|hsn|bond|ens|eno|enp)[0-9a-f.spnd]*$ ]] || continue
    show "$device"/{mtu,speed,operstate} "$device"/device/{current_link_speed,current_link_width,max_link_speed,max_link_width}
  done
  show "$sysfs"/devices/system/node/node*/cpulist
}

query_gpus() {
  local common=index,name,driver_version,memory.total,pcie.link.gen.current,pcie.link.gen.max,pcie.link.width.current,pcie.link.width.max
  common+=,pstate,utilization.gpu,clocks.sm,clocks.max.sm,clocks.mem,clocks.max.mem,power.draw,power.limit,power.default_limit
  common+=,persistence_mode,temperature.gpu
  local why clocks fields reason status
  # Newer drivers use other names for the reasons, and some do not report the clocks that an application set.
  for why in clocks_event_reasons clocks_throttle_reasons ''; do
    for clocks in ,clocks.applications.graphics,clocks.default_applications.graphics ''; do
      fields=$common$clocks
      [[ -z $why ]] || for reason in active hw_slowdown hw_thermal_slowdown sw_thermal_slowdown hw_power_brake_slowdown sw_power_cap; do
        fields+=,$why.$reason
      done
      status=0
      within 20 nvidia-smi --query-gpu="$fields" --format=csv >"$mine/gpus.csv" 2>/dev/null || status=$?
      [[ $status != 0 ]] || return 0
      [[ $status != 124 ]] || break 2  # nvidia-smi hangs
    done
  done
  rm -f "$mine/gpus.csv"
  return 1
}

note_gpus() {
  if ! command -v nvidia-smi >/dev/null; then
    lack gpus "nvidia-smi is not on PATH"
    lack matrix "nvidia-smi is not on PATH"
    return
  fi
  query_gpus || lack gpus "nvidia-smi could not query the GPUs"
  { within 20 nvidia-smi topo -m >"$mine/matrix.txt" 2>/dev/null && grep -q GPU0 "$mine/matrix.txt"; } ||
    { rm -f "$mine/matrix.txt"; lack matrix "nvidia-smi topo -m does not answer"; }
}

note_node() {
  list_devices >"$mine/devices.txt"
  if ! grep -qE 'infiniband|link_speed' "$mine/devices.txt"; then
    lack devices "sysfs shows no PCIe link of a GPU or NIC and no InfiniBand port"
  fi
  if command -v lspci >/dev/null; then
    # Only the line of a device and its links are kept, because the rest has serial numbers.
    within 20 lspci -vv 2>/dev/null | grep -E '^[0-9a-f]|Lnk(Cap|Sta):|NUMA node:|ACSCtl:|Downstream Port' |
      awk '/^[0-9a-f]/ { wanted = /VGA|3D controller|Ethernet|Infiniband|InfiniBand|Network controller|PCI bridge/ } wanted' >"$mine/lspci.txt" ||
      rm -f "$mine/lspci.txt"
  else
    lack lspci "lspci is not on PATH"
  fi
}

# Runs all_reduce_perf on one node without a launcher. It shows faults of this node; faults between nodes show only in the job.
measure_all_reduce() {
  if ! command -v all_reduce_perf >/dev/null; then
    lack all_reduce_log "all_reduce_perf of nccl-tests is not on PATH. Pass its output with --all-reduce FILE"
    return
  fi
  local gpus
  gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU' || true)
  [[ $gpus -ge 2 ]] || { lack all_reduce_log "the node has $gpus GPUs, and an all-reduce needs two"; return; }
  note "all_reduce_perf on $gpus GPUs"
  (for name in $(compgen -e | grep -E '^(OMPI|PMIX?|SLURM|MASTER|RANK$|WORLD_SIZE$|LOCAL_RANK$)' || true); do unset "$name"; done
   [[ -s $mine/topology.xml ]] || export NCCL_TOPO_DUMP_FILE=$mine/topology.xml
   within 30 all_reduce_perf -b 64K -e 64M -f 4 -g "$gpus") >"$mine/all_reduce.txt" 2>&1 ||
    { rm -f "$mine/all_reduce.txt"; lack all_reduce_log "all_reduce_perf failed"; }
}

# Runs the command with the recorder in it (scripts/collect/sitecustomize.py), and ends it when all its ranks are recorded.
run_command() {
  note "recording: at most $seconds s"
  PYTHONPATH=$here/collect${PYTHONPATH:+:$PYTHONPATH} DDPSIM_COLLECT_PARTS=$parts \
    DDPSIM_COLLECT_SET=$([[ -v NCCL_DEBUG ]] || echo NCCL_DEBUG) NCCL_DEBUG=${NCCL_DEBUG:-INFO} \
    NCCL_DEBUG_FILE=$parts/nccl-%h-%p.txt NCCL_TOPO_DUMP_FILE=$mine/topology.xml \
    setsid bash -c "$command" >"$mine/run.out" 2>&1 &
  local child=$! until=$((SECONDS + seconds)) wanted recorded looked=false
  while kill -0 "$child" 2>/dev/null && ((SECONDS < until)); do
    recorded=$(find "$parts" -name recorded | wc -l)
    if ! $looked && [[ $local_rank == 0 && -n $(find "$parts" -name step_times.csv) ]]; then
      looked=true
      note_gpus  # now, because idle GPUs slow their links down
    fi
    wanted=$(world "$ranks")  # the command may start several ranks
    ((recorded < wanted)) || break
    sleep 0.3
  done
  recorded=$(find "$parts" -name recorded | wc -l)
  kill -TERM -- "-$child" 2>/dev/null || true
  # A launcher needs time to end its workers.
  for ((waited = 0; waited < 75; ++waited)); do kill -0 -- "-$child" 2>/dev/null || break; sleep 0.2; done
  kill -KILL -- "-$child" 2>/dev/null || true
  wait "$child" 2>/dev/null || true
  $looked || [[ $local_rank != 0 ]] || note_gpus
  if ((recorded == 0)); then
    note "nothing was recorded. The command must train with DistributedDataParallel for about 50 steps within --seconds $seconds. It printed:"
    [[ $rank != 0 ]] || tail -n 15 "$mine/run.out" | tr '\000-\010\013-\037\177' '[?*]' | sed 's/^/  /'
    lack trace "the command was not recorded: no 50 steps of DistributedDataParallel within $seconds s"
  fi
}

# Moves each log of NCCL to the folder of its rank, which is in a line "host:pid:tid [device] NCCL INFO … rank 3 nranks 8".
name_nccl_logs() {
  local file number folder
  for file in "$parts"/nccl-*.txt; do
    [[ -s $file ]] || continue
    number=$(sed -n 's/.*comm 0x[0-9a-f]* rank \([0-9]*\) nranks .*/\1/p; s/.*ncclCommInitRank.* rank \([0-9]*\) nranks .*/\1/p' "$file" | head -1)
    number=${number:-$rank}
    for folder in "$parts/rank$number" "$parts/launcher$number"; do
      [[ ! -d $folder ]] || { mv "$file" "$folder/nccl.txt"; break; }
    done
  done
}

if [[ -n $command ]]; then
  run_command
elif [[ $local_rank == 0 ]]; then
  note_gpus
fi
note_rank
if [[ $local_rank == 0 ]]; then
  note_node
  [[ " ${given[*]} " == *" --all-reduce "* ]] || measure_all_reduce
fi
[[ -s $mine/topology.xml ]] || rm -f "$mine/topology.xml"
touch "$mine/done"
[[ $rank == 0 ]] || exit 0

for ((waited = 0; waited < wait; ++waited)); do
  (($(find "$parts" -name done | wc -l) < ranks)) || break
  sleep 1
done
name_nccl_logs
[[ $(world "$ranks") -le $ranks ]] || ranks=$(world "$ranks")
"$python" "$here/collected_parts.py" "$parts" "$out.tar.gz" --ranks "$ranks" "${given[@]}" ||
  { note "not packed (that needs Python 3.9 or newer): what was collected is in $parts"; exit 1; }
rm -rf "$parts"
rmdir "$out" 2>/dev/null || true
note "done: $out.tar.gz; try: ddpsim simulate $out.tar.gz CLUSTER"
