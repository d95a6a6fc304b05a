#include "cannot_schedule.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <variant>
#include <vector>

#include "compiled.hpp"
#include "ddpsim/sim/values/limits.hpp"
#include "flow_planner.hpp"
#include "kernel_costs.hpp"
#include "process_groups.hpp"
#include "rank_classes.hpp"
#include "units.hpp"

namespace ddpsim {
namespace {

/// Each has streams of its own on every rank.
constexpr int kMostServers = 1024;

const WrapPolicy* wrap_of(const Scheme& scheme) {
  if (const Fsdp1* fsdp1 = std::get_if<Fsdp1>(&scheme)) return &fsdp1->wrap;
  if (const Fsdp2* fsdp2 = std::get_if<Fsdp2>(&scheme)) return &fsdp2->wrap;
  const Zero* zero = std::get_if<Zero>(&scheme);
  return zero != nullptr && zero->stage == 3 ? &zero->wrap : nullptr;
}

/// Modules right below the root, or a table's layers.
std::string some_modules(const Workload& workload) {
  constexpr std::size_t kMost = 8;
  std::vector<std::string> names;
  for (const Parameter& parameter : workload.parameters) {
    const std::string name = parameter.name.substr(0, parameter.name.rfind('.'));
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  const bool more = names.size() > kMost;
  if (more) names.resize(kMost);
  return fmt::format("{}{}", fmt::join(names, ", "), more ? ", …" : "");
}

std::optional<std::string> cannot_wrap(const Job& job, const WrapPolicy& wrap) {
  const std::vector<Unit> units = units_of(job.workload(), wrap);
  if (wrap.by == WrapPolicy::By::modules &&
      std::ranges::all_of(units, [](const Unit& unit) { return unit.module.empty(); }))
    return fmt::format("wrap={}: no module of the workload is called so; it has {}", text_of(wrap),
                       some_modules(job.workload()));
  if (4 * static_cast<std::int64_t>(units.size()) * job.options().ddp.accumulate >
      kMostSimulatedCollectives)
    return fmt::format(
        "{} units in a step of {} micro-batches: at most {} collectives are simulated",
        units.size(), job.options().ddp.accumulate, kMostSimulatedCollectives);
  return std::nullopt;
}

/// A flat parameter is one tensor.
std::optional<std::string> cannot_flatten(const Job& job, const Fsdp1& scheme) {
  const std::vector<Parameter>& parameters = job.workload().parameters;
  for (const Unit& unit : units_of(job.workload(), scheme.wrap))
    for (const std::size_t parameter : unit.parameters) {
      const Parameter& first = parameters[unit.parameters.front()];
      if (parameters[parameter].frozen != first.frozen && !scheme.use_orig_params) {
        const bool first_is = first.frozen;
        return fmt::format(
            "{} is frozen and {} is not, and both are of one unit: FullyShardedDataParallel "
            "flattens them together only with use_orig_params=true; add it, or wrap them apart",
            first_is ? first.name : parameters[parameter].name,
            first_is ? parameters[parameter].name : first.name);
      }
      if (parameters[parameter].dtype == first.dtype) continue;
      return fmt::format(
          "{} is {} and {} is {}: FullyShardedDataParallel flattens parameters of one type into a "
          "unit; wrap them apart, or use fsdp2",
          first.name, name_of(first.dtype), parameters[parameter].name,
          name_of(parameters[parameter].dtype));
    }
  return std::nullopt;
}

std::optional<std::string> cannot_drive(const Job& job) {
  const Cluster& cluster = job.cluster();
  if (cluster.hosts() > 1)
    return fmt::format(
        "--scheme data_parallel: one process drives the GPUs of one node, and {} has {} nodes; "
        "take "
        "one of them, or ddp",
        cluster.name, cluster.hosts());
  if (std::holds_alternative<GlooModel>(job.model()))
    return "--scheme data_parallel sends by NCCL, with no process group: leave out --backend gloo";
  return std::nullopt;
}

std::optional<std::string> cannot_serve(const Job& job, const ParameterServer& scheme) {
  using Pull = ParameterServer::Pull;
  const Cluster& cluster = job.cluster();
  const auto problem = [](const std::string& text) { return "--scheme parameter_server: " + text; };
  if (cluster.hosts_per_node > 1)
    return problem(
        "nodes that share an NVLink domain are not simulated: leave the word domain out, so that "
        "nodes "
        "reach each other by their NICs");
  if (job.network() != nullptr)
    return problem(
        "what workers send to servers is not simulated over the flow network: leave out --network "
        "flow");
  if (scheme.host && cluster.nodes > 1)
    return problem(
        fmt::format("servers=host: GPUs reach the host of their own node, and {} has {} nodes; "
                    "give a number of "
                    "servers",
                    cluster.name, cluster.nodes));
  const int servers = scheme.host ? 1 : scheme.servers.value_or(cluster.nodes);
  if (!scheme.host && scheme.colocated && servers > cluster.nodes)
    return problem(fmt::format(
        "servers={}: one at most stands on each of the {} nodes; add colocated=false for nodes of "
        "their own",
        servers, cluster.nodes));
  if (servers > kMostServers)
    return problem(fmt::format("servers={}: at most {} are simulated", servers, kMostServers));
  if (scheme.update == ParameterServer::Update::worker && scheme.pull != Pull::backward)
    return problem(fmt::format(
        "pull={}: with update=worker the optimizer waits for all sums behind backward; leave out "
        "one of the two",
        name_of(scheme.pull)));
  if (scheme.placement == ParameterServer::Placement::partitioned) {
    const auto most = static_cast<double>(kMostSimulatedCollectives) / 4;
    double parts = 0;
    for (const Bytes gradient : job.gradients())
      parts +=
          1 + static_cast<double>(gradient.count()) / static_cast<double>(scheme.partition.count());
    if (parts > most)
      return problem(fmt::format("partition_mb={}: some {:.0f} parts; at most {:.0f} are simulated",
                                 static_cast<double>(scheme.partition.count()) / 1e6, parts, most));
  }
  return std::nullopt;
}

/// What hook_with_zero_step refuses itself, and what is not simulated with it.
std::optional<std::string> cannot_overlap(const Job& job) {
  const auto* scheme = std::get_if<ZeroRedundancy>(&job.options().scheme);
  if (scheme == nullptr || !scheme->overlap_with_ddp) return std::nullopt;
  const auto problem = [](const char* text) {
    return std::string("--scheme zero_redundancy: overlap_with_ddp: ") + text;
  };
  if (std::holds_alternative<GlooModel>(job.model()))
    return problem("hook_with_zero_step may hang over gloo and refuses it; leave one out");
  if (scheme->parameters_as_bucket_view)
    return problem("PyTorch ignores parameters_as_bucket_view with it; leave that out");
  if (job.options().ddp.comm_hook != CommHook::none || job.options().ddp.optimizer_in_backward)
    return problem(
        "buckets are stepped behind plain all-reduces alone here; leave out the other hook");
  return std::nullopt;
}

std::optional<std::string> cannot_offload(const Job& job) {
  const CpuOffload* offload = offload_of(job.options().scheme);
  if (offload == nullptr) return std::nullopt;
  if (KernelCosts(job).on_host())
    return "offload: gradients and parameters live on the host already, by --gloo tensors:host";
  const Fsdp1* fsdp1 = std::get_if<Fsdp1>(&job.options().scheme);
  if (fsdp1 != nullptr && !fsdp1->no_sync && job.options().ddp.accumulate > 1)
    return "cpu_offload=true: FullyShardedDataParallel accumulates gradients that stay on the host "
           "under no_sync() alone; leave out no_sync=false, or use fsdp2";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> cannot_schedule(const Job& job) {
  const Scheme& scheme = job.options().scheme;
  if (std::holds_alternative<Ddp>(scheme)) return std::nullopt;
  const Workload& workload = job.workload();
  for (const Parameter& parameter : workload.parameters)
    if (parameter.sparse_gradient && !parameter.ignored)
      return fmt::format(
          "{} has a sparse gradient: of other schemes than DDP dense ones alone are "
          "simulated",
          parameter.name);
  for (const RankRecording& rank : workload.ranks)
    if (!same_order(rank, workload))
      return fmt::format(
          "rank {} wrote its gradients in another order: the collectives of --scheme "
          "{} would not meet. Give the recording of one rank",
          rank.rank, name_of(scheme));
  if (std::holds_alternative<DataParallel>(scheme)) {
    if (auto problem = cannot_drive(job)) return problem;
  }
  if (const ParameterServer* servers = std::get_if<ParameterServer>(&scheme)) {
    if (auto problem = cannot_serve(job, *servers)) return problem;
  }
  if (auto problem = cannot_offload(job)) return problem;
  if (auto problem = cannot_overlap(job)) return problem;
  if (auto problem = cannot_form_groups(job)) return problem;
  if (auto problem = cannot_compile(job)) return problem;
  if (job.network() != nullptr && job.network()->has_background() &&
      !facts_of(scheme).one_at_a_time)
    return fmt::format(
        "--background: beside it one collective at a time is simulated, and --scheme "
        "{} has several in flight",
        name_of(scheme));
  if (const WrapPolicy* wrap = wrap_of(scheme))
    if (auto problem = cannot_wrap(job, *wrap)) return problem;
  if (const Fsdp1* fsdp1 = std::get_if<Fsdp1>(&scheme)) return cannot_flatten(job, *fsdp1);
  return std::nullopt;
}

}  // namespace ddpsim
