#include "zero3_plan.hpp"

#include <fmt/format.h>

#include "zero3_modules.hpp"

namespace ddpsim {

Zero3Plan plan_zero3(const Job& job, const Zero& scheme) {
  const Workload& workload = job.workload();
  const int ranks = job.cluster().ranks();
  Zero3Plan plan{
      .scheme = scheme,
      .sizes = Zero3Sizes(job, scheme),
      .overlaps = scheme.overlap_comm.value_or(true),
      .all = ProcessGroups(job, ranks),
      .secondary = ProcessGroups(job, scheme.zero_hpz_partition_size.value_or(ranks)),
      .modules = zero3_modules(workload, scheme.wrap),
      .buckets = buckets_up_to(scheme.reduce_bucket_size, workload, zero3_order(workload)),
      .planned = {},
      .norm = {},
      .persistent = {}};
  for (const std::vector<std::size_t>& bucket : plan.buckets) {
    Zero3Bucket& planned = plan.planned.emplace_back();
    Bytes reduced;
    for (const std::size_t parameter : bucket) {
      planned.computed += plan.sizes.computed(parameter);
      planned.single += Bytes(plan.sizes.padded(parameter) / ranks * element_size(Dtype::float32));
      reduced += plan.sizes.reduced(parameter);
    }
    planned.reduce = named(plan.all.within(CollectiveKind::reduce_scatter, reduced),
                           fmt::format("bucket {}", plan.planned.size() - 1), StepPhase::backward);
  }
  plan.norm = named(plan.all.within(CollectiveKind::all_reduce, Bytes(8)), "gradient norm",
                    StepPhase::optimizer);
  std::int64_t elements = 0;
  std::int64_t stepped = 0;
  for (const std::size_t parameter : parameters_as_defined(workload)) {
    elements += elements_of(workload.parameters[parameter]);
    stepped += plan.sizes.padded(parameter) / ranks;
    plan.owned.computed += plan.sizes.shard(plan.sizes.computed(parameter));
    ++plan.owned.tensors;
  }
  const std::vector<bool> written = gradients_written(workload);
  for (std::size_t p = 0; p < workload.parameters.size(); ++p) {
    const Parameter& of = workload.parameters[p];
    if (of.ignored || !(written[p] || of.frozen) || !persists(of, scheme)) continue;
    plan.persistent.push_back(
        named(plan.all.within(CollectiveKind::all_gather, plan.sizes.computed(p)), of.name,
              StepPhase::optimizer));
  }
  plan.owned.single = Bytes(stepped * element_size(Dtype::float32));
  plan.owned.share = share_of(Bytes(stepped), Bytes(elements));
  return plan;
}

}  // namespace ddpsim
