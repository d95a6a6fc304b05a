#include "ddpsim/sim/ddp/changed_numerics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "ddpsim/sim/step/bucket_assignment.hpp"

namespace ddpsim {
namespace {

constexpr const char* kNodesApart = "nodes train apart between averages of their parameters";

/// "gradients travel with 16 bits", where some parameter has more.
std::string narrowed(const Job& job, const std::optional<Dtype>& wire) {
  if (!wire) return "";
  const bool any = std::ranges::any_of(job.workload().parameters, [&](const Parameter& parameter) {
    return is_reduced(parameter) && element_size(parameter.dtype) > element_size(*wire);
  });
  return any ? fmt::format("gradients travel with {} bits", 8 * element_size(*wire)) : "";
}

std::string of_hook(const Job& job) {
  const DdpOptions& ddp = job.options().ddp;
  switch (ddp.comm_hook) {
    case CommHook::none:
      return "";
    case CommHook::power_sgd:
      return fmt::format("gradients are approximated by matrices of rank {}",
                         ddp.power_sgd.matrix_approximation_rank);
    case CommHook::post_local_sgd:
      return kNodesApart;
    case CommHook::fp16_compress:
    case CommHook::bf16_compress:
      break;
  }
  return narrowed(job, wire_dtype(ddp, Dtype::float32));
}

struct OfScheme {
  const Job& job;

  std::string operator()(const ParameterServer& scheme) const {
    return scheme.mode == ParameterServer::Mode::async
               ? "a worker's gradients are of parameters that others have changed since"
               : "";
  }
  std::string operator()(const PeriodicAveraging& /*scheme*/) const {
    return "ranks train apart between averages of their parameters";
  }
  std::string operator()(const SlowMo& /*scheme*/) const { return kNodesApart; }
  std::string operator()(const Fsdp1& scheme) const {
    return narrowed(job, scheme.reduce_dtype ? scheme.reduce_dtype : scheme.param_dtype);
  }
  std::string operator()(const Fsdp2& scheme) const {
    return narrowed(job, scheme.reduce_dtype ? scheme.reduce_dtype : scheme.param_dtype);
  }
  std::string operator()(const Zero& scheme) const {
    if (scheme.zero_quantized_gradients) return "gradients travel with 4 bits";
    if (scheme.zero_quantized_weights) return "parameters travel with 8 bits";
    return narrowed(
        job, scheme.communication_data_type ? scheme.communication_data_type : scheme.param_dtype);
  }
  std::string operator()(const MegatronOptimizer& scheme) const {
    return scheme.grad_reduce_in_fp32 ? "" : narrowed(job, scheme.param_dtype);
  }
  std::string operator()(const NaiveAllReduce& /*scheme*/) const { return ""; }
  std::string operator()(const DataParallel& /*scheme*/) const { return ""; }
  /// What they run is DDP's reducer, or a copy of it with its hooks.
  std::string operator()(const Ddp& /*scheme*/) const { return of_hook(job); }
  std::string operator()(const ZeroRedundancy& /*scheme*/) const { return of_hook(job); }
  std::string operator()(const Compiled& scheme) const {
    return scheme.optimize_ddp == OptimizeDdp::python_reducer ? "" : of_hook(job);
  }
};

}  // namespace

std::string changed_numerics(const Job& job) {
  return std::visit(OfScheme{job}, job.options().scheme);
}

}  // namespace ddpsim
