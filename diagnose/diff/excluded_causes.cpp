#include "ddpsim/diagnose/diff/excluded_causes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace ddpsim {
namespace {

void exclude(CauseClass what, std::string says, std::vector<ExcludedCause>& excluded) {
  excluded.push_back({what, std::move(says)});
}

/// Number of sizes for which both logs print NCCL's choice. Absent if a choice differs, or if there
/// is none.
std::optional<std::size_t> same_choices(const NcclFacts& before, const NcclFacts& after) {
  std::size_t sizes = 0;
  for (const auto& [size, now] : after.choices) {
    const auto was = before.choices.find(size);
    if (was == before.choices.end()) continue;
    if (was->second.algorithm != now.algorithm || was->second.protocol != now.protocol) return {};
    ++sizes;
  }
  if (sizes == 0) return std::nullopt;
  return sizes;
}

void add_network(const Evidence& before, const Evidence& after,
                 std::vector<ExcludedCause>& excluded) {
  const LoggedCommunicator* was = before.nccl.largest();
  const LoggedCommunicator* is = after.nccl.largest();
  if (was != nullptr && is != nullptr && was->ranks == 1 && is->ranks == 1) {
    for (const CauseClass what : {CauseClass::network_slower, CauseClass::slow_rank,
                                  CauseClass::uneven_data, CauseClass::data_parallel_changed})
      exclude(what, "both jobs have one rank", excluded);
    return;
  }
  if (before.nccl.one_node() && after.nccl.one_node())
    exclude(CauseClass::network_slower, "both jobs run on one node", excluded);
  if (const auto sizes = same_choices(before.nccl, after.nccl))
    exclude(CauseClass::other_algorithm,
            fmt::format("NCCL chose the same algorithm and protocol for {} size{} on both", *sizes,
                        *sizes == 1 ? "" : "s"),
            excluded);
}

/// Only if both sides state their versions, and these are equal.
void add_versions(const Evidence& before, const Evidence& after,
                  std::vector<ExcludedCause>& excluded) {
  const auto words = [](const std::vector<NotedWord>& versions) {
    std::set<std::string> each;
    for (const NotedWord& version : versions) each.insert(version.word);
    return each;
  };
  const std::set<std::string> nccl = words(before.nccl.versions);
  if (!nccl.empty() && nccl == words(after.nccl.versions))
    exclude(CauseClass::version_changed, fmt::format("both run NCCL {}", fmt::join(nccl, ", ")),
            excluded);
}

/// Whether no GPU was held below its clocks, on a side whose GPUs were all read while they worked.
bool none_held_down(const Evidence& evidence) {
  bool any = false;
  for (const MachineFacts& machine : evidence.machines)
    for (const GpuState& gpu : machine.gpus) {
      if (!gpu.reasons_read || gpu.idle != false || !gpu.slowed_by.empty()) return false;
      any = true;
    }
  return any;
}

bool links_at_their_best(const Evidence& evidence) {
  bool any = false;
  for (const MachineFacts& machine : evidence.machines)
    for (const GpuState& gpu : machine.gpus) {
      const PcieLink& link = gpu.link;
      if (!link.rate || !link.best_rate || !link.width || !link.best_width) return false;
      if (*link.rate < *link.best_rate || *link.width < *link.best_width) return false;
      any = true;
    }
  return any;
}

bool changed(const std::vector<Finding>& changes, CauseClass what) {
  return std::ranges::find(changes, what, &Finding::what) != changes.end();
}

void add_machine(const Evidence& before, const Evidence& after,
                 std::vector<ExcludedCause>& excluded) {
  const std::vector<Finding> changes = machine_changes(before.machines, after.machines);
  if (none_held_down(before) && none_held_down(after) &&
      !changed(changes, CauseClass::clocks_held_down) &&
      !changed(changes, CauseClass::power_limit_lowered))
    exclude(CauseClass::clocks_held_down, "no GPU was held below its clocks, before or now",
            excluded);
  if (links_at_their_best(before) && links_at_their_best(after) &&
      !changed(changes, CauseClass::pcie_link_below_its_best))
    exclude(CauseClass::pcie_link_below_its_best,
            "all PCIe links of GPUs ran at full speed, before and now", excluded);
}

void add_ddp(const Evidence& before, const Evidence& after, std::vector<ExcludedCause>& excluded) {
  if (before.ddp.values.empty() || after.ddp.values.empty()) return;
  const std::vector<Finding> changes = ddp_changes(before.ddp, after.ddp);
  if (changes.empty())
    exclude(CauseClass::data_parallel_changed, "DDP's logging data shows the same options on both",
            excluded);
  const std::vector<std::int64_t> sizes = before.ddp.bucket_sizes();
  if (!sizes.empty() && sizes == after.ddp.bucket_sizes())
    exclude(
        CauseClass::bucket_sizes,
        fmt::format("both have the same {} bucket{}", sizes.size(), sizes.size() == 1 ? "" : "s"),
        excluded);
  const auto same = [&](std::string_view key, CauseClass what, std::string_view option) {
    const DdpFacts::Value* was = before.ddp.find(key);
    const DdpFacts::Value* is = after.ddp.find(key);
    if (was != nullptr && is != nullptr && was->text == is->text)
      exclude(what, fmt::format("{} is {} on both", option, was->text == "1" ? "on" : "off"),
              excluded);
  };
  same("gradient_as_bucket_view", CauseClass::bucket_views_off, "gradient_as_bucket_view");
  if (!changed(changes, CauseClass::find_unused_parameters) &&
      before.ddp.integer("static_graph") == after.ddp.integer("static_graph"))
    same("find_unused_parameters", CauseClass::find_unused_parameters, "find_unused_parameters");
  same("broadcast_buffers", CauseClass::buffers_broadcast, "broadcast_buffers");
}

void add_environment(const Evidence& before, const Evidence& after,
                     std::vector<ExcludedCause>& excluded) {
  const auto unset = [](const EnvironmentFacts& facts) {
    return facts.listed > 0 && facts.find("CUDA_LAUNCH_BLOCKING") == nullptr;
  };
  if (unset(before.environment) && unset(after.environment))
    exclude(CauseClass::blocking_launches, "CUDA_LAUNCH_BLOCKING is set on neither", excluded);
}

}  // namespace

std::vector<ExcludedCause> excluded_causes(const Evidence& before, const Evidence& after) {
  std::vector<ExcludedCause> excluded;
  add_network(before, after, excluded);
  add_versions(before, after, excluded);
  add_machine(before, after, excluded);
  add_ddp(before, after, excluded);
  add_environment(before, after, excluded);
  return excluded;
}

}  // namespace ddpsim
