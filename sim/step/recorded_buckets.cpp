#include "ddpsim/sim/step/recorded_buckets.hpp"

#include "ddpsim/sim/step/bucket_assignment.hpp"

namespace ddpsim {

DdpOptions with_recorded_hook(DdpOptions options, const RecordedWith& with) {
  options.comm_hook = with.wire == Dtype::float16    ? CommHook::fp16_compress
                      : with.wire == Dtype::bfloat16 ? CommHook::bf16_compress
                                                     : CommHook::none;
  return options;
}

std::vector<Bucket> cut_as_recorded(const Workload& workload) {
  if (cannot_assign(workload)) return {};
  const DdpOptions options = with_recorded_hook({}, workload.recorded_with);
  const std::vector<std::size_t> order = ready_order(workload);
  std::vector<std::size_t> ends;
  std::size_t next = 0;
  for (const RecordedCollective& collective : workload.recorded_with.collectives) {
    const std::size_t begin = next;
    Bytes bytes;
    for (; next < order.size() && (bytes < collective.bytes || next == begin); ++next) {
      const Parameter& parameter = workload.parameters[order[next]];
      if (parameter.dtype != workload.parameters[order[begin]].dtype) return {};
      bytes += wire_bytes(options, parameter.dtype, gradient_bytes(parameter).value_or(Bytes()));
    }
    if (next == begin || bytes != collective.bytes) return {};
    ends.push_back(next);
  }
  return next == order.size() ? cut_buckets(workload, order, ends) : std::vector<Bucket>();
}

}  // namespace ddpsim
