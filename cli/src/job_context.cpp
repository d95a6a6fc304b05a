#include "job_context.hpp"

#include "ddp_arguments.hpp"

namespace ddpsim {

ReportContext context_of(const Job& job, const JobArguments& arguments, NcclVersion nccl) {
  const Workload& workload = job.workload();
  const SimulationOptions& options = job.options();
  ReportContext context;
  context.workload = workload.name.empty() ? arguments.workload : workload.name;
  context.cluster = job.cluster().name;
  context.ranks = job.cluster().ranks();
  context.torch = options.ddp.torch;
  context.nccl = nccl;
  context.network = arguments.network;
  context.backend = arguments.backend.backend;
  context.accumulate = options.ddp.accumulate;
  context.compute_scale = options.compute_scale;
  context.rank_slowdown = shares_beyond_recording(options.rank_slowdown, workload, job.cluster(),
                                                  options.ddp.accumulate)
                              .slowdown();
  context.variation = options.variation;
  if (workload.launches) context.launch_cost = launch_cost(*workload.launches, options);
  if (workload.batch_per_gpu)
    context.samples_per_step = static_cast<double>(*workload.batch_per_gpu) *
                               job.cluster().ranks() * options.ddp.accumulate;
  context.batch_per_gpu = workload.batch_per_gpu;
  if (arguments.scheme) context.scheme = options.scheme;
  context.comm_hook = options.ddp.comm_hook;
  context.comm_hook_min_mb = options.ddp.comm_hook_min_mb;
  context.power_sgd = options.ddp.power_sgd;
  context.local_sgd = options.ddp.local_sgd;
  context.sync_batchnorm_group = options.ddp.sync_batchnorm_group;
  context.bucket_setting = describe_buckets(options.ddp);
  return context;
}

}  // namespace ddpsim
