#include "ddpsim/sim/memory/memory.hpp"

#include <variant>

#include "memory_parts.hpp"
#include "memory_walks.hpp"
#include "process_groups.hpp"
#include "scheme_of_job.hpp"
#include "sync_batch_norm.hpp"

namespace ddpsim {
namespace {

/// NCCL's buffers for every communicator of the job.
Bytes buffers_of_communicators(const Job& job) {
  const SimulationOptions& options = job.options();
  Bytes all;
  // With servers between them, ranks have no communicator of all ranks.
  if (!facts_of(options.scheme).by_servers) all = nccl_buffers(job);
  for (const int ranks : groups_of(options.scheme, job.cluster().gpus_per_host())) {
    if (ranks == 1) continue;  // no collective runs within one rank
    if (ranks < job.cluster().ranks() || all == Bytes()) all += nccl_buffers(group_of(job, ranks));
  }
  if (options.ddp().comm_hook == CommHook::post_local_sgd &&
      options.ddp().local_sgd.averages_gradients && job.cluster().nodes > 1)
    all += nccl_buffers(job.within(1));
  if (options.ddp().sync_batchnorm_group && !synced_layers(job).empty())
    all += nccl_buffers(batch_norm_job(job));
  return all;
}

}  // namespace

Bytes MemoryParts::known() const {
  return parameters + buffers + gradients + buckets + hook + optimizer + temporaries +
         activations.value_or(Bytes());
}

std::string_view name_of(PeakMoment moment) {
  switch (moment) {
    case PeakMoment::forward:
      return "forward";
    case PeakMoment::backward:
      return "backward";
    case PeakMoment::optimizer:
      return "optimizer";
    case PeakMoment::rebuild:
      return "rebuild";
    case PeakMoment::averaging:
      return "averaging";
  }
  return "";
}

PeakMemory peak_memory(const Job& job) {
  const KeptInMemory kept = scheme_rules(job).kept_in_memory(job);
  PeakMemory peak = std::visit([&](const auto& of) { return peak_of(job, of); }, kept);
  if (!peak.activations) {
    peak.parts.activations.reset();
    for (MemoryMoment& moment : peak.moments) moment.parts.activations.reset();
  }
  peak.optimizer = job.options().optimizer;
  peak.nccl = buffers_of_communicators(job);
  return peak;
}

}  // namespace ddpsim
