#include "zero_redundancy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <utility>
#include <variant>

#include "ddpsim/sim/step/job_buckets.hpp"
#include "gradient_buckets.hpp"
#include "reducer.hpp"
#include "reducer_schemes.hpp"
#include "unit_sizes.hpp"

namespace ddpsim {

std::vector<std::vector<std::size_t>> parameters_by_owner(const Job& job,
                                                          const ZeroRedundancy& scheme,
                                                          const std::vector<Bucket>& buckets) {
  const Workload& workload = job.workload();
  std::vector<std::vector<std::size_t>> owners(static_cast<std::size_t>(job.cluster().ranks()));
  if (scheme.overlap_with_ddp) {
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      std::vector<std::size_t>& owner = owners[b % owners.size()];
      owner.insert(owner.end(), buckets[b].parameters.begin(), buckets[b].parameters.end());
    }
    return owners;
  }
  std::vector<std::size_t> order = parameters_as_defined(workload);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return elements_of(workload.parameters[a]) > elements_of(workload.parameters[b]);
  });
  std::set<std::pair<std::int64_t, std::size_t>> loads;
  for (std::size_t rank = 0; rank < owners.size(); ++rank) loads.insert({0, rank});
  for (const std::size_t parameter : order) {
    auto least = loads.extract(loads.begin());
    owners[least.value().second].push_back(parameter);
    least.value().first += elements_of(workload.parameters[parameter]);
    loads.insert(std::move(least));
  }
  return owners;
}

namespace {

/// Broadcasts bucket b from rank b mod N. Returns the share of all bytes that rank 0 steps.
double broadcast_buckets(StepPlan& step, const std::function<void(Bytes, std::string)>& broadcast) {
  Bytes all;
  Bytes own;
  for (std::size_t b = 0; b < step.buckets.size(); ++b) {
    const Bytes bytes = step.buckets[b].bytes;
    broadcast(bytes, fmt::format("bucket {}", b));
    all += bytes;
    if (b % static_cast<std::size_t>(step.job.cluster().ranks()) == 0) own += bytes;
  }
  return share_of(own, all);
}

/// Broadcasts each owner's parameters, one by one or together. Returns the largest share of all
/// elements that one owner steps.
double broadcast_parameters(StepPlan& step, const ZeroRedundancy& scheme,
                            const std::function<void(Bytes, std::string)>& broadcast) {
  const Job& job = step.job;
  const auto owners = parameters_by_owner(job, scheme, step.buckets);
  std::int64_t all = 0;
  std::int64_t largest = 0;
  for (std::size_t rank = 0; rank < owners.size(); ++rank) {
    std::int64_t elements = 0;
    Bytes bytes;
    for (const std::size_t parameter : owners[rank]) {
      const Parameter& owned = job.workload().parameters[parameter];
      elements += elements_of(owned);
      bytes += job.gradients()[parameter];
      if (!scheme.parameters_as_bucket_view) broadcast(job.gradients()[parameter], owned.name);
    }
    if (scheme.parameters_as_bucket_view && !owners[rank].empty())
      broadcast(bytes, fmt::format("rank {}", rank));
    all += elements;
    largest = std::max(largest, elements);
  }
  return share_of(Bytes(largest), Bytes(all));
}

}  // namespace

void add_parameter_broadcasts(StepPlan& step) {
  const auto* scheme = std::get_if<ZeroRedundancy>(&step.job.options().scheme);
  if (scheme == nullptr) return;
  const auto broadcast = [&](Bytes bytes, std::string unit) {
    step.parameter_broadcasts.push_back(step.collectives.add(
        named(planned_collective(step.job, CollectiveKind::broadcast, bytes, kUnrecorded),
              std::move(unit), StepPhase::optimizer)));
  };
  step.steps_by_bucket = scheme->overlap_with_ddp;
  step.stepped_share = scheme->overlap_with_ddp ? broadcast_buckets(step, broadcast)
                                                : broadcast_parameters(step, *scheme, broadcast);
}

namespace {

/// By parameter: whether the rank that steps most steps it.
std::vector<bool> stepped_by_one_rank(const Job& job, const ZeroRedundancy& scheme) {
  std::vector<bool> most(job.workload().parameters.size());
  Bytes of_most;
  for (const std::vector<std::size_t>& own : parameters_by_owner(job, scheme, buckets_of(job))) {
    Bytes bytes;
    for (const std::size_t parameter : own) bytes += job.gradients()[parameter];
    if (bytes <= of_most) continue;
    of_most = bytes;
    most.assign(most.size(), false);
    for (const std::size_t parameter : own) most[parameter] = true;
  }
  return most;
}

/// Says what hook_with_zero_step itself refuses, or what is not simulated with it.
std::optional<std::string> cannot_overlap(const Job& job, const ZeroRedundancy& scheme) {
  if (auto problem = cannot_step_in_backward(job)) return problem;
  if (!scheme.overlap_with_ddp) return std::nullopt;
  const auto problem = [](const char* text) {
    return std::string("--scheme zero_redundancy: overlap_with_ddp: ") + text;
  };
  if (std::holds_alternative<GlooModel>(job.model()))
    return problem("hook_with_zero_step may hang over gloo and refuses it. Leave one of them out");
  if (scheme.parameters_as_bucket_view)
    return problem(
        "PyTorch ignores parameters_as_bucket_view here. Leave parameters_as_bucket_view out");
  if (job.options().ddp().comm_hook != CommHook::none)
    return problem(
        "ddpsim steps buckets only after plain all-reduces here. Leave out the other hook "
        "(--comm-hook)");
  return std::nullopt;
}

}  // namespace

SchemeRules rules_of(const ZeroRedundancy& scheme) {
  return {.schedule = schedule_reducer,
          .kept_in_memory = [&scheme](const Job& job) -> KeptInMemory {
            return ReducerBuckets{.steps = stepped_by_one_rank(job, scheme)};
          },
          .changed_numerics = changed_by_hook,
          .cannot_simulate = [&scheme](const Job& job) { return cannot_overlap(job, scheme); },
          .rests_on = as_sure_as_ddp};
}

}  // namespace ddpsim
