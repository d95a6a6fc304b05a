#include "job_context.hpp"

#include "cluster_arguments.hpp"
#include "ddp_arguments.hpp"
#include "ddpsim/models/model_flops.hpp"
#include "ddpsim/sim/ddp/changed_numerics.hpp"

namespace ddpsim {
namespace {

StepWork work_of(const Job& job) {
  const Workload& workload = job.workload();
  StepWork work;
  if (!workload.batch_per_gpu) return work;
  const double samples_of_rank =
      static_cast<double>(*workload.batch_per_gpu) * job.options().ddp.accumulate;
  work.samples = samples_of_rank * job.cluster().ranks();
  if (!workload.sample) return work;
  if (workload.sample->tokens > 0)
    work.tokens = *work.samples * static_cast<double>(workload.sample->tokens);
  if (const auto precision = precision_from_name(workload.precision))
    if (const auto each = seconds_at_peak(*workload.sample, job.cluster().gpu, *precision))
      work.seconds_at_peak = samples_of_rank * *each;
  return work;
}

}  // namespace

ReportContext context_of(const Job& job, const JobArguments& arguments, NcclVersion nccl) {
  const Workload& workload = job.workload();
  const SimulationOptions& options = job.options();
  ReportContext context;
  context.workload = workload.name.empty() ? arguments.workload : workload.name;
  context.cluster = job.cluster().name;
  context.calibrated_by = calibrated_by(job.cluster(), arguments.backend.backend);
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
  context.work = work_of(job);
  context.batch_per_gpu = workload.batch_per_gpu;
  if (arguments.scheme) context.scheme = options.scheme;
  context.changed_numerics = changed_numerics(job);
  context.comm_hook = options.ddp.comm_hook;
  context.comm_hook_min_mb = options.ddp.comm_hook_min_mb;
  context.power_sgd = options.ddp.power_sgd;
  context.local_sgd = options.ddp.local_sgd;
  context.sync_batchnorm_group = options.ddp.sync_batchnorm_group;
  context.bucket_setting = describe_buckets(options.ddp);
  return context;
}

}  // namespace ddpsim
