// Each rule names what a value costs and who says so. Sources: "NCCL" is NVIDIA's NCCL User Guide, "Environment Variables";
// "PyTorch" torch.distributed's documentation and that of CUDA's environment variables in PyTorch; "CUDA" the CUDA C++
// Programming Guide, "Environment Variables".
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ddpsim/diagnose/evidence/environment_facts.hpp"
#include "ddpsim/diagnose/evidence/nccl_facts.hpp"
#include "evidence_words.hpp"

namespace ddpsim {
namespace {

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

bool switched_on(std::string_view value) {
  const std::string lower = lower_case(value);
  constexpr std::array<std::string_view, 6> kOff = {"", "0", "false", "off", "no", "n"};
  return std::ranges::find(kOff, lower) == kOff.end();
}
bool switched_off(std::string_view value) {
  return !value.empty() && !switched_on(value);
}
/// As NCCL reads its parameters, by strtoll: what is no number is 0 ("true", too).
bool nccl_on(std::string_view value) {
  return leading_number<long long>(value).value_or(0) != 0;
}
bool nccl_off(std::string_view value) {
  return !value.empty() && !nccl_on(value);
}
/// NCCL_P2P_DISABLE alone is compared with 1 (ncclGetLevel).
bool nccl_one(std::string_view value) {
  return leading_number<long long>(value) == 1;
}
bool is_local_only(std::string_view value) {
  return value == "LOC" || value == "0";
}
bool is_detail(std::string_view value) {
  return lower_case(value) == "detail";
}
bool is_trace(std::string_view value) {
  return lower_case(value) == "trace";
}
bool is_socket(std::string_view value) {
  return lower_case(value) == "socket";
}
bool is_one(std::string_view value) {
  return value == "1";
}
bool is_zero(std::string_view value) {
  return value == "0";
}
bool is_anything(std::string_view value) {
  return !value.empty();
}
bool logs_each_call(std::string_view value) {
  const std::string upper = ',' + lower_case(value) + ',';
  return upper.find(",all,") != std::string::npos || upper.find(",coll,") != std::string::npos;
}
bool holds_at_most(std::string_view value) {
  return leading_number<int>(value).value_or(0) >= 1;
}

/// What of a job makes a rule idle.
enum class Needs { nothing, several_gpus_a_node, several_nodes };

struct Rule {
  std::string_view name;
  bool (*costs)(std::string_view value);
  CauseClass what;
  Needs needs;
  std::string_view says;  ///< behind "NAME=VALUE "
};

constexpr std::array kRules = {
    Rule{"NCCL_P2P_DISABLE", nccl_one, CauseClass::peer_to_peer_off, Needs::several_gpus_a_node,
         "switches peer-to-peer off: GPUs of a node pass every byte through the host's memory "
         "instead of NVLink or PCIe (NCCL); unset it, and where it works around a hang look for "
         "ACS or IOMMU settings"},
    Rule{"NCCL_P2P_LEVEL", is_local_only, CauseClass::peer_to_peer_off, Needs::several_gpus_a_node,
         "never allows peer-to-peer: GPUs of a node pass every byte through the host's memory "
         "instead of NVLink or PCIe (NCCL); unset it"},
    Rule{"NCCL_SHM_DISABLE", nccl_on, CauseClass::shared_memory_off, Needs::several_gpus_a_node,
         "switches shared host memory off: GPUs of a node without peer-to-peer send over the "
         "network to each other (NCCL); unset it"},
    Rule{"NCCL_IB_DISABLE", nccl_on, CauseClass::socket_instead_of_ib, Needs::several_nodes,
         "keeps NCCL off InfiniBand and RoCE: nodes send over TCP sockets unless a plugin is found "
         "(NCCL); unset it where the nodes have RDMA NICs"},
    Rule{"NCCL_NET", is_socket, CauseClass::socket_instead_of_ib, Needs::several_nodes,
         "keeps NCCL on TCP sockets (NCCL); unset it where the nodes have RDMA NICs"},
    Rule{"NCCL_NET_GDR_LEVEL", is_local_only, CauseClass::gpudirect_off, Needs::several_nodes,
         "switches GPUDirect RDMA off: what is sent passes through the host's memory (NCCL); unset "
         "it"},
    Rule{"NCCL_NET_GDR_READ", nccl_off, CauseClass::gpudirect_off, Needs::several_nodes,
         "makes senders copy through the host's memory, though NICs could read from the GPU's "
         "(NCCL); unset it, and measure both"},
    Rule{"NCCL_DMABUF_ENABLE", nccl_off, CauseClass::gpudirect_off, Needs::several_nodes,
         "leaves GPUDirect RDMA to the module nvidia_peermem alone (NCCL); unset it, or load the "
         "module on every node"},
    Rule{"NCCL_PXN_DISABLE", nccl_on, CauseClass::pxn_changed, Needs::several_nodes,
         "keeps GPUs off NICs of other GPUs (PXN), so that some traffic crosses PCIe switches or "
         "rails (NCCL); unset it, and measure both: there are clusters that are faster so"},
    Rule{"NCCL_MAX_NCHANNELS", holds_at_most, CauseClass::channels_limited, Needs::nothing,
         "bounds the number of channels: fewer than the links need cost bandwidth, each takes a "
         "multiprocessor from compute (NCCL); unset it, and measure both"},
    Rule{"NCCL_MAX_NRINGS", holds_at_most, CauseClass::channels_limited, Needs::nothing,
         "bounds the number of rings: fewer than the links need cost bandwidth (NCCL, its name "
         "before 2.5); unset it, and measure both"},
    Rule{"NCCL_MAX_CTAS", holds_at_most, CauseClass::channels_limited, Needs::nothing,
         "bounds the thread blocks of a collective, hence its channels: fewer than the links need "
         "cost bandwidth (NCCL); unset it, and measure both"},
    Rule{"NCCL_MIN_NCHANNELS", holds_at_most, CauseClass::channels_limited, Needs::nothing,
         "asks for at least so many channels: each takes a multiprocessor from compute while an "
         "all-reduce runs (NCCL); unset it, and measure both"},
    Rule{"NCCL_MIN_CTAS", holds_at_most, CauseClass::channels_limited, Needs::nothing,
         "asks for at least so many thread blocks: each takes a multiprocessor from compute while "
         "an all-reduce runs (NCCL); unset it, and measure both"},
    Rule{"NCCL_ALGO", is_anything, CauseClass::algorithm_forced, Needs::nothing,
         "takes the choice of algorithm from NCCL at every size (NCCL); unset it outside of "
         "measurements"},
    Rule{"NCCL_PROTO", is_anything, CauseClass::algorithm_forced, Needs::nothing,
         "takes the choice of protocol from NCCL at every size: small messages are slower without "
         "LL, large ones without Simple (NCCL); unset it outside of measurements"},
    Rule{"NCCL_TREE_THRESHOLD", is_zero, CauseClass::algorithm_forced, Needs::nothing,
         "switches trees off where NCCL still knows it (2.4): latency of rings grows with ranks "
         "(NCCL); unset it"},
    Rule{
        "NCCL_NVLS_ENABLE", nccl_off, CauseClass::in_switch_off, Needs::several_gpus_a_node,
        "keeps NCCL from reducing in the NVLink switches (NVLS) (NCCL); unset it where GPUs are of "
        "Hopper's kind or newer"},
    Rule{"NCCL_CHECK_POINTERS", nccl_on, CauseClass::nccl_setting, Needs::nothing,
         "checks pointers at each call, which takes host time (NCCL); unset it"},
    Rule{"NCCL_DEBUG", is_trace, CauseClass::debug_level, Needs::nothing,
         "prints trace information at each call, where NCCL was built for it (NCCL); INFO prints "
         "at start alone"},
    Rule{"CUDA_LAUNCH_BLOCKING", switched_on, CauseClass::blocking_launches, Needs::nothing,
         "makes the host wait for each kernel: nothing overlaps, all-reduces neither (CUDA, for "
         "debugging); unset it"},
    Rule{
        "CUDA_DEVICE_MAX_CONNECTIONS", is_one, CauseClass::device_connections, Needs::nothing,
        "leaves one hardware queue for all streams: kernels start in the order of their launches, "
        "so an all-reduce may wait behind compute (CUDA); leave it out for data parallelism alone"},
    Rule{"TORCH_NCCL_BLOCKING_WAIT", switched_on, CauseClass::blocking_wait, Needs::nothing,
         "makes the host wait in wait() until a collective has ended, so that launches behind it "
         "come late (PyTorch: performance overhead); unset it"},
    Rule{"NCCL_BLOCKING_WAIT", switched_on, CauseClass::blocking_wait, Needs::nothing,
         "makes the host wait in wait() until a collective has ended, so that launches behind it "
         "come late (PyTorch: performance overhead; its name before 2.2); unset it"},
    Rule{"TORCH_DISTRIBUTED_DEBUG", is_detail, CauseClass::debug_level, Needs::nothing,
         "checks each collective's shapes among all ranks before it runs, and logs (PyTorch: for "
         "debugging only); set it to OFF"},
    Rule{"TORCH_NCCL_DESYNC_DEBUG", switched_on, CauseClass::debug_level, Needs::nothing,
         "notes start and end of each collective in the store (PyTorch: for debugging); unset it"},
    Rule{"NCCL_DESYNC_DEBUG", switched_on, CauseClass::debug_level, Needs::nothing,
         "notes start and end of each collective in the store (PyTorch: for debugging; its name "
         "before 2.2); unset it"},
    Rule{"PYTORCH_NO_CUDA_MEMORY_CACHING", switched_on, CauseClass::allocator_uncached,
         Needs::nothing,
         "asks the driver for each tensor's memory, which waits for the GPU (PyTorch, for "
         "debugging); unset it"},
    Rule{"NVIDIA_TF32_OVERRIDE", switched_off, CauseClass::tensor_cores_off, Needs::nothing,
         "switches TF32 off in all of NVIDIA's libraries: float32 multiplications and convolutions "
         "run without tensor cores (cuBLAS); unset it, unless full float32 is wanted"},
};

bool is_idle(const Rule& rule, const NcclFacts& nccl) {
  const Needs needs = rule.needs;
  // Told to stay off InfiniBand, and a plugin sends: nothing is lost.
  if (rule.what == CauseClass::socket_instead_of_ib && nccl.sends_beside_sockets()) return true;
  const LoggedCommunicator* job = nccl.largest();
  if (needs == Needs::nothing || job == nullptr) return false;
  if (needs == Needs::several_nodes) return job->nodes == 1;
  return job->local_ranks == 1 || job->nodes == job->ranks;
}

/// Level INFO prints what its subsystems say: COLL and ALL say something at each call.
void add_subsystems(const EnvironmentFacts& facts, std::vector<Finding>& findings) {
  const EnvironmentVariable* level = facts.find("NCCL_DEBUG");
  const EnvironmentVariable* of = facts.find("NCCL_DEBUG_SUBSYS");
  if (level == nullptr || of == nullptr || lower_case(level->value) != "info") return;
  if (!logs_each_call(of->value)) return;
  findings.push_back(
      {.what = CauseClass::debug_level,
       .says = fmt::format("NCCL_DEBUG_SUBSYS={} prints at each call (NCCL); leave ALL and COLL "
                           "out of trainings",
                           of->value),
       .place = of->place});
}

/// Threads of PyTorch's operations on the host, of OpenMP's or its own pool: each rank starts OMP_NUM_THREADS, or one a
/// core. torchrun sets 1 where nobody did, which is its default and says nothing.
void add_host_threads(const EnvironmentFacts& facts, const NcclFacts& nccl,
                      std::vector<Finding>& findings) {
  std::optional<int> per_node = facts.ranks_per_node;
  if (!per_node && nccl.largest() != nullptr) per_node = nccl.largest()->local_ranks;
  if (!facts.cores) return;
  const int cores = *facts.cores;
  if (facts.allowed_cores && *facts.allowed_cores <= 2 &&
      std::int64_t{*facts.allowed_cores} * per_node.value_or(1) * 4 <= cores)
    findings.push_back(
        {.what = CauseClass::host_threads,
         .says =
             fmt::format("a rank may run on {} of {} cores alone: its launches, its data loader's "
                         "workers and NCCL's threads share them; give it more (--bind-to, "
                         "--cpus-per-task, taskset)",
                         *facts.allowed_cores, cores),
         .place = facts.allowed_place});
  if (per_node.value_or(1) < 2) return;
  const int ranks = *per_node;
  const EnvironmentVariable* omp = facts.find("OMP_NUM_THREADS");
  const auto threads = omp ? leading_number<int>(omp->value) : std::nullopt;
  if (!omp) {
    if (facts.torchrun || !facts.other_launcher || facts.listed == 0) return;
    findings.push_back(
        {.what = CauseClass::host_threads,
         .says = fmt::format(
             "OMP_NUM_THREADS is not set: each of {} ranks starts a thread for each of {} cores, "
             "and they take the cores from each other and from data loaders; set it to {} or less",
             ranks, cores, std::max(1, cores / ranks)),
         .place = "OMP_NUM_THREADS"});
    return;
  }
  if (!threads || *threads < 1) return;
  if (static_cast<std::int64_t>(*threads) * ranks > cores)
    findings.push_back(
        {.what = CauseClass::host_threads,
         .says = fmt::format("OMP_NUM_THREADS={} of {} ranks is {} threads for {} cores, and they "
                             "take the cores from each other and from data loaders; set it to {} "
                             "or less",
                             *threads, ranks, static_cast<std::int64_t>(*threads) * ranks, cores,
                             std::max(1, cores / ranks)),
         .place = omp->place});
  else if (*threads == 1 && facts.other_launcher && !facts.torchrun && cores / ranks >= 4)
    findings.push_back(
        {.what = CauseClass::host_threads,
         .says = fmt::format("OMP_NUM_THREADS=1 leaves operations on the host one of {} cores a "
                             "rank has: transforms of input and optimizers on the host are slower "
                             "so, nothing else; try {}",
                             cores / ranks, cores / ranks / 2),
         .place = omp->place});
}

}  // namespace

std::vector<Finding> environment_problems(const EnvironmentFacts& facts, const NcclFacts& nccl) {
  std::vector<Finding> findings;
  for (const Rule& rule : kRules)
    for (const EnvironmentVariable& variable : facts.variables) {
      if (variable.name != rule.name || !rule.costs(variable.value)) continue;
      if (variable.value.starts_with('<')) continue;  // hidden by whoever collected it
      if (is_idle(rule, nccl)) continue;
      findings.push_back({.what = rule.what,
                          .says = fmt::format("{}={} {}", variable.name, variable.value, rule.says),
                          .place = variable.place});
    }
  add_subsystems(facts, findings);
  add_host_threads(facts, nccl, findings);
  return findings;
}

std::optional<bool> value_costs(std::string_view name, std::string_view value) {
  const auto rule = std::ranges::find(kRules, name, &Rule::name);
  if (rule == kRules.end()) return std::nullopt;
  return rule->costs(value);
}

}  // namespace ddpsim
