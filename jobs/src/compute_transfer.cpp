#include "ddpsim/jobs/compute_transfer.hpp"

#include <fmt/format.h>

#include <cmath>
#include <tuple>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/jobs/workload_source.hpp"
#include "ddpsim/models/estimate.hpp"
#include "ddpsim/models/transfer.hpp"
#include "ddpsim/sim/values/elementary.hpp"
#include "ddpsim/topologies/cluster_source.hpp"

namespace ddpsim {
namespace {

using Range = std::pair<double, double>;

/// The request and the workload it is about, for messages.
struct Question {
  const ComputeRequest& asked;
  const std::string& workload;
};

[[noreturn]] void refuse(const Question& request, const char* where, std::string message,
                         Hint hint) {
  throw InputError({.file = request.workload,
                    .where = where,
                    .message = std::move(message),
                    .hint = std::move(hint)});
}

/// Combines two independent factors, each within its range: the deviations add up as squares.
Range combined(const Range& a, const Range& b) {
  const auto both = [](double x, double y) {
    const double log_x = elementary::log(x);
    const double log_y = elementary::log(y);
    return std::sqrt(log_x * log_x + log_y * log_y);
  };
  return {elementary::exp(-both(a.first, b.first)), elementary::exp(both(a.second, b.second))};
}

/// Checks that --gpu names the cluster's GPU. Any other GPU would be ignored and mislead the user.
void require_gpu_of_cluster(const Question& request, const Cluster& cluster) {
  if (!request.asked.gpu) return;
  require_gpu_name("--gpu", *request.asked.gpu);
  const std::optional<GpuModel> named = find_gpu(*request.asked.gpu);
  if (!named || named->is_another(cluster.gpu))
    throw UsageError(
        fmt::format("--gpu {}", *request.asked.gpu),
        fmt::format("the cluster has {}; --gpu must name the cluster's GPU, which accepts that "
                    "the recording has another",
                    cluster.gpu.stated()));
}

/// Returns what follows the GPU: ":b32:s512:bf16" for "bert-large@A100:b32:s512:bf16".
std::string asked_of_estimate(const std::string& name) {
  const std::size_t at = name.find('@');
  const std::size_t options = at == std::string::npos ? at : name.find(':', at);
  return options == std::string::npos ? "" : name.substr(options);
}

/// Refuses a cluster whose GPU is not the recording's, unless the user accepted that.
void check_gpu_is_meant(const Question& request, const Workload& workload,
                        const std::string& recorded, const Cluster& cluster) {
  if (request.asked.gpu) return;
  if (is_estimate(workload)) {
    const std::optional<Model> model = recognised_model(workload);
    refuse(request, "/gpu",
           fmt::format("estimated for {}, but the cluster has {}", recorded, cluster.gpu.stated()),
           fmt::format("Estimate it for that: {}@{}{}", model ? model->name : "MODEL",
                       cluster.gpu.stated(), asked_of_estimate(workload.name)));
  }
  refuse(
      request, "/gpu",
      fmt::format("recorded on {}, but the cluster has {}", recorded, cluster.gpu.name),
      fmt::format("Say how much faster {} runs it: --compute-scale 2.3±0.2, or have it estimated "
                  "layer by layer: --gpu {}",
                  cluster.gpu.name, cluster.gpu.name));
}

Model model_of(const Question& request, const Workload& workload, const char* option) {
  std::optional<Model> model = recognised_model(workload);
  if (!model)
    refuse(request, "/parameters",
           fmt::format("no model of the catalogue has these parameters, and {} needs to know what "
                       "each layer computes",
                       option),
           "Give the ratio yourself: --compute-scale 2.3±0.2");
  return std::move(*model);
}

GpuModel recorded_gpu(const Question& request, const Workload& workload, const Cluster& cluster) {
  if (workload.gpu.empty()) return cluster.gpu;
  const std::optional<GpuModel> gpu = recorded_on(workload);
  if (!gpu)
    refuse(request, "/gpu", fmt::format("\"{}\" is not in the GPU catalogue", workload.gpu),
           "Give the ratio yourself: --compute-scale 2.3±0.2");
  return *gpu;
}

/// Collects everything that the ratio of layer costs rests on, and reports each assumption.
Transfer transfer_for(const Question& request, const Workload& workload, const Model& model,
                      const GpuModel& to, const Cluster& cluster,
                      std::vector<std::string>& warnings) {
  Transfer transfer;
  transfer.from.gpu = recorded_gpu(request, workload, cluster);
  transfer.to.gpu = to;
  if (const auto precision = precision_from_name(workload.precision)) {
    transfer.from.precision = *precision;
  } else {
    warnings.emplace_back("the recording does not state its precision; fp32 is assumed");
  }
  transfer.to.precision = transfer.from.precision;
  if (!workload.batch_per_gpu) {
    if (request.asked.batch)
      refuse(request, "/batch_per_gpu", "the recording does not state its batch",
             "Write it into the workload file: \"batch_per_gpu\": 32");
    warnings.push_back(
        fmt::format("the recording does not state its batch; {} is assumed", model.default_batch));
  }
  transfer.from.batch = workload.batch_per_gpu.value_or(model.default_batch);
  transfer.to.batch = request.asked.batch.value_or(transfer.from.batch);
  return transfer;
}

std::string sentence(const Model& model, const Transfer& transfer, const Range& range) {
  const bool gpu = transfer.from.gpu.name != transfer.to.gpu.name;
  const bool batch = transfer.from.batch != transfer.to.batch;
  const double faster = speedup(model, transfer);
  std::string what;
  if (gpu)
    what = fmt::format("from {} to {}", transfer.from.gpu.stated(), transfer.to.gpu.stated());
  if (batch)
    what += fmt::format("{}from batch {} to {}", gpu ? " and " : "", transfer.from.batch,
                        transfer.to.batch);
  const double ratio = faster >= 1 ? faster : 1 / faster;
  return fmt::format(
      "compute is carried over {}, layer by layer ({}): {:.3g} times {}. Past errors say that its "
      "speed is {:.2f} to {:.2f} times that. No measurement of this workload confirms it",
      what, model.name, ratio, faster >= 1 ? "faster" : "longer", range.first, range.second);
}

bool equally_fast(const GpuModel& one, const GpuModel& other) {
  const auto rates = [](const GpuModel& gpu) {
    return std::tie(gpu.sms, gpu.memory_bandwidth, gpu.fp32_tflops, gpu.tf32_tflops,
                    gpu.half_tflops);
  };
  return rates(one) == rates(other);
}

/// Reports another variant of the cluster's GPU, which is no mismatch. Empty if no difference is
/// known.
std::string variant_sentence(const Workload& workload, const Cluster& cluster) {
  const std::optional<GpuModel> recorded = recorded_on(workload);
  if (!recorded || recorded->name != cluster.gpu.name ||
      recorded->product() == cluster.gpu.product())
    return "";
  const bool estimate = is_estimate(workload);
  const bool alike = equally_fast(*recorded, cluster.gpu);
  if (alike && (recorded->variant_open || cluster.gpu.variant_open)) return "";
  if (!estimate && recorded->variant_open) return "";  // the recording does not say which
  const std::optional<Model> model = estimate && !alike ? recognised_model(workload) : std::nullopt;
  return fmt::format(
      "{} {}, but the cluster has {}: compute times are kept, while memory and its rate are "
      "the cluster's{}",
      estimate ? "estimated for" : "recorded on", recorded->product(), cluster.gpu.product(),
      model ? fmt::format(" (estimate it for that: {}@{})", model->name, cluster.gpu.product())
            : "");
}

}  // namespace

void require_gpu_name(const char* option, const std::string& name) {
  if (const std::string problem = gpu_name_problem(name); !problem.empty() && find_gpu(name))
    throw UsageError(fmt::format("{} {}", option, name),
                     fmt::format("{}. {}", problem, gpus_instead_of(name)));
}

ComputeTransfer transfer_compute(Workload recorded_workload, const std::string& source,
                                 const ComputeRequest& asked, const Cluster& cluster) {
  const Question request{asked, source};
  ComputeTransfer result{.workload = std::move(recorded_workload), .scale = {}, .warnings = {}};
  Workload& workload = result.workload;
  require_gpu_of_cluster(request, cluster);
  if (request.asked.scale) {
    result.scale = *request.asked.scale;
    if (result.scale.range)
      result.warnings.push_back(fmt::format(
          "compute is scaled by {:.3g} ({:.3g} to {:.3g}), which no measurement of this workload "
          "confirms",
          result.scale.factor, result.scale.range->first, result.scale.range->second));
  }
  const std::string recorded = gpu_model_name(workload.gpu);
  const bool other_gpu =
      !request.asked.scale && !workload.gpu.empty() && recorded != cluster.gpu.name;
  if (other_gpu) check_gpu_is_meant(request, workload, recorded, cluster);
  if (!request.asked.scale && !workload.carried_over)
    if (std::string sentence = variant_sentence(workload, cluster); !sentence.empty())
      result.warnings.push_back(std::move(sentence));
  const bool other_batch = request.asked.batch && request.asked.batch != workload.batch_per_gpu;
  const double factor = result.scale.factor;
  Range range = result.scale.range
                    ? Range{result.scale.range->first / factor, result.scale.range->second / factor}
                    : Range{1, 1};
  // If the user states how certain the ratio is, the error of estimates is part of that.
  const bool stated = result.scale.range.has_value();
  if (is_estimate(workload) && !stated)
    range = kEstimateSpeedRange;
  else if (!request.asked.scale && !other_gpu)
    range = kSameModelSpeedRange;
  if (other_gpu || other_batch) {
    const Model model = model_of(request, workload, other_gpu ? "--gpu" : "--batch");
    const GpuModel to = other_gpu ? cluster.gpu : recorded_gpu(request, workload, cluster);
    const Transfer transfer = transfer_for(request, workload, model, to, cluster, result.warnings);
    Range transfer_range = {1, 1};
    if (other_gpu) transfer_range = combined(transfer_range, kOtherGpuSpeedRange);
    if (other_batch) transfer_range = combined(transfer_range, kOtherBatchSpeedRange);
    result.warnings.push_back(sentence(model, transfer, transfer_range));
    range = combined(range, transfer_range);
    workload = transferred(std::move(workload), model, transfer);
  }
  if (range != Range{1, 1}) result.scale.range = {factor * range.first, factor * range.second};
  return result;
}

}  // namespace ddpsim
