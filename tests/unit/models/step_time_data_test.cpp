// Compares estimates with published single-GPU steps: whole steps on V100, A100, H100 and RTX 2080
// Ti.
//
// Rows are facts from NVIDIA/DeepLearningExamples (DLE), Oneflow-Inc/DLPerf, PyTorch's DDP
// benchmark, the Azure benchmarks of msalvaris, and open profiler traces.
//
// Not included are DLE's newer BERT phase 2 values. 19 sequences of 512 tokens per second in fp32
// on a V100 would be 19 TFLOP/s on a card with 15.7, so the rows count something else.
// BERT in half precision ran with Apex amp O2: parameters and activations are half, and nothing is
// cast (DLE's run_pretraining.py and run_squad.py). Such a row is estimated like bf16-true. The
// pretraining of 2019, and of the commit that DLPerf ran in 2020, predicts the words of all positions
// (DLE's modeling.py). DLPerf replaced LAMB by Apex's FusedAdam.
//
// Channels-last rows are not included either, because ours is PyTorch's default layout.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ddpsim/models/estimate.hpp"
#include "ddpsim/models/model_config.hpp"
#include "ddpsim/models/transfer.hpp"
#include "ddpsim/sim/values/quantile.hpp"
#include "ddpsim/sim/values/simulation_options.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "layer_cost_constants.hpp"

using namespace ddpsim;

namespace {

/// What a step includes beside forward and backward, and whether Apex made the model half. `alone`
/// and `half` are without an optimizer: gradients were accumulated, or busy times summed. `stepped`
/// has one that is not fused, the others one of Apex's.
enum class Trained { alone, stepped, fused, half, half_fused };

struct PublishedStep {
  const char* spec;
  double samples_per_second;
  Trained trained;
  /// Whether BERT predicts the words of all positions. Later versions do so for masked ones alone.
  bool words = false;

  bool half_model() const { return trained == Trained::half || trained == Trained::half_fused; }
  bool fused() const { return trained == Trained::fused || trained == Trained::half_fused; }
  bool optimizer() const { return trained == Trained::stepped || fused(); }
};

constexpr PublishedStep kSteps[] = {
    {"resnet50@V100:b112:fp32", 367, Trained::stepped},             // DLE, V100-SXM2-16GB
    {"resnet50@V100:b112:fp32", 356, Trained::stepped},             // DLE, V100-SXM2-32GB
    {"resnet50@V100:b128:fp32", 367.29, Trained::stepped},          // DLPerf, PyTorch 1.5
    {"resnet50@V100:b128:fp32", 350.66, Trained::stepped},          // DLPerf, PyTorch 1.6
    {"resnet50@V100:b32:fp32", 329.9, Trained::stepped},            // PyTorch DDP benchmark, 97 ms
    {"resnet50@V100:b64:fp32", 330.5, Trained::stepped},            // Azure, PCIe card
    {"resnext101_32x8d@V100:b32:fp32", 77.1, Trained::stepped},     // PyTorch DDP benchmark, 415 ms
    {"resnext101_32x4d@V100:b64:fp32", 147, Trained::stepped},      // DLE
    {"bert-base@V100:b32:s128:fp32", 119.6, Trained::fused, true},  // DLPerf
    {"bert-large@V100:b32:s128:fp32", 50, Trained::alone},          // DLE, phase 1, accumulated
    {"bert-large@V100:b8:s128:fp32", 40, Trained::alone, true},  // DLE 2019, phase 1, accumulated
    {"bert-large@V100:b2:s512:fp32", 9, Trained::alone, true},   // DLE 2019, phase 2, accumulated
    {"bert-large@V100:b8:s384:fp32", 12, Trained::stepped},      // DLE, SQuAD
    {"bert-large@V100:b4:s384:fp32", 9, Trained::stepped},       // DLE, SQuAD
    {"resnet18@RTX2080Ti:b128:fp32", 941,
     Trained::alone},  // trace, 136 ms of kernels without input copies
    {"resnet50@V100:b256:amp", 827.9, Trained::stepped},                // DLPerf
    {"resnet50@V100:b256:amp", 893, Trained::stepped},                  // DLE 2019
    {"bert-base@V100:b64:s128:amp", 444.5, Trained::half_fused, true},  // DLPerf
    {"bert-large@V100:b64:s128:amp", 224, Trained::half},               // DLE, phase 1, accumulated
    {"bert-large@V100:b16:s128:amp", 164, Trained::half, true},  // DLE 2019, phase 1, accumulated
    {"bert-large@V100:b4:s512:amp", 34, Trained::half, true},    // DLE 2019, phase 2, accumulated
    {"bert-large@V100:b16:s384:amp", 52, Trained::half_fused},   // DLE, SQuAD
    {"bert-large@V100:b10:s384:amp", 50, Trained::half_fused},   // DLE, SQuAD
    {"resnet50@A100:b256:tf32", 938, Trained::stepped},          // DLE
    {"resnet50@A100-40GB:b32:fp32", 844, Trained::alone},  // trace, 40 GB card, 37.9 ms of kernels
    {"resnext101_32x4d@A100:b128:tf32", 456, Trained::stepped},    // DLE
    {"bert-large@A100:b128:s128:tf32", 317, Trained::alone},       // DLE, phase 1, accumulated
    {"bert-large@A100:b32:s384:tf32", 61.5, Trained::stepped},     // DLE, SQuAD
    {"bert-large@A100:b256:s128:amp", 580, Trained::half},         // DLE, phase 1, accumulated
    {"bert-large@A100:b32:s384:amp", 110.5, Trained::half_fused},  // DLE, SQuAD
    {"resnet50@H100:b128:fp32", 1831, Trained::alone},  // per-operator tables, 23.9 + 46.0 ms
    {"vgg13@H100:b128:fp32", 1414, Trained::alone},     // per-operator tables, 28.1 + 62.4 ms
};

struct StepCase {
  const PublishedStep* step;
  Model model;
  ComputeSetting setting;
  double measured_ms() const {
    return 1e3 * static_cast<double>(setting.batch) / step->samples_per_second;
  }
  /// Rows of one model on one GPU are not independent of each other.
  std::string group() const { return model.name + " on " + setting.gpu.name; }
};

/// BERT with the heads of pretraining, its vocabulary padded to a multiple of eight.
Model pretraining_bert(const EstimateSpec& spec) {
  const bool large = spec.model == "bert-large";
  const std::string config = fmt::format(
      R"({{"model_type":"bert","architectures":["BertForPreTraining"],"hidden_size":{},"num_hidden_layers":{},"num_attention_heads":{},"intermediate_size":{},"vocab_size":30528}})",
      large ? 1024 : 768, large ? 24 : 12, large ? 16 : 12, large ? 4096 : 3072);
  Model model =
      build_model(model_of_config(config, spec.model), *spec.tokens, AttentionKernel::eager);
  model.name = spec.model;
  return model;
}

std::vector<StepCase> cases() {
  std::vector<StepCase> list;
  for (const PublishedStep& step : kSteps) {
    const EstimateSpec spec = parse_estimate_spec(step.spec);
    Model model = step.words    ? pretraining_bert(spec)
                  : spec.tokens ? find_model(spec.model, *spec.tokens).value()
                                : find_model(spec.model).value();
    model.fused_optimizer = step.fused();
    const Precision precision = step.half_model() ? Precision::bf16_true : spec.precision;
    list.push_back(
        {&step, std::move(model), {find_gpu(spec.gpu).value(), precision, spec.batch.value()}});
  }
  return list;
}

double estimated_ms(const StepCase& one, const LayerCostConstants& constants) {
  Duration total = one.step->optimizer() ? optimizer_cost(one.model, one.setting.gpu) : Duration();
  for (const Layer& layer : one.model.layers) {
    const LayerCost cost = layer_cost(layer, one.setting, constants);
    total += cost.forward + cost.backward();
  }
  return total.milliseconds();
}

double work(const StepCase& one) {
  double sum = 0;
  for (const Layer& layer : one.model.layers)
    if (layer.product) sum += layer.product->multiply_adds();
  return sum * static_cast<double>(one.setting.batch);
}

/// The peak rate of the units that run the products.
double peak(const StepCase& one) {
  const GpuModel& gpu = one.setting.gpu;
  switch (one.setting.precision) {
    case Precision::amp:
    case Precision::bf16:
    case Precision::bf16_true:
      return gpu.half_tflops;
    case Precision::tf32:
      return gpu.tf32_tflops > 0 ? gpu.tf32_tflops : gpu.fp32_tflops;
    case Precision::fp32:
      break;
  }
  return one.model.sample == SampleKind::image && gpu.tf32_tflops > 0 ? gpu.tf32_tflops
                                                                      : gpu.fp32_tflops;
}

std::string summary(const std::vector<double>& errors) {
  std::vector<double> sizes;
  for (const double error : errors) sizes.push_back(std::abs(error));
  return fmt::format("median {:.1f} %, p90 {:.1f} %, worst {:.1f} %", 100 * median(sizes),
                     100 * quantile(sizes, 0.9), 100 * quantile(sizes, 1));
}

double median_size(std::vector<double> errors) {
  for (double& error : errors) error = std::abs(error);
  return median(std::move(errors));
}

/// The two tensor-core constants that fit the other groups best.
LayerCostConstants learned_without(const std::string& group, const std::vector<StepCase>& all) {
  LayerCostConstants best;
  for (const auto field :
       {&LayerCostConstants::tensor_convolution, &LayerCostConstants::tensor_linear}) {
    double least = 1e9;
    double chosen = best.*field;
    for (int percent = 20; percent <= 90; percent += 5) {
      LayerCostConstants tried = best;
      tried.*field = percent / 100.0;
      double sum = 0;
      for (const StepCase& one : all)
        if (one.group() != group)
          sum += std::abs(std::log(estimated_ms(one, tried) / one.measured_ms()));
      if (sum >= least) continue;
      least = sum;
      chosen = tried.*field;
    }
    best.*field = chosen;
  }
  return best;
}

}  // namespace

TEST_CASE("step time: estimates compared with published single-GPU steps, leaving one group out") {
  const std::vector<StepCase> all = cases();
  // constant of the baseline: one share of the peak
  double work_per_ms = 0;
  {
    std::vector<double> shares;
    for (const StepCase& one : all) shares.push_back(work(one) / peak(one) / one.measured_ms());
    work_per_ms = median(shares);
  }
  std::map<std::string, LayerCostConstants> learned;
  std::string report;
  std::vector<double> errors;
  std::vector<double> left_out;
  std::vector<double> rival;
  std::vector<double> speeds;
  for (const StepCase& one : all) {
    auto& constants = learned.try_emplace(one.group()).first->second;
    constants = learned_without(one.group(), all);
    const double estimate = estimated_ms(one, LayerCostConstants());
    errors.push_back(estimate / one.measured_ms() - 1);
    left_out.push_back(estimated_ms(one, constants) / one.measured_ms() - 1);
    rival.push_back(work(one) / peak(one) / work_per_ms / one.measured_ms() - 1);
    speeds.push_back(1 + left_out.back());
    report += fmt::format(
        "\n  {:<32} measured {:7.1f} ms, estimate {:7.1f} ({:+.0f} %), left out {:+.0f} % "
        "({:.2f} {:.2f}), ~ FLOPs {:+.0f} %",
        one.step->spec, one.measured_ms(), estimate, 100 * errors.back(), 100 * left_out.back(),
        constants.tensor_convolution, constants.tensor_linear, 100 * rival.back());
  }
  MESSAGE("step times", report, "\n  estimate: ", summary(errors),
          "\n  left out: ", summary(left_out),
          "; measured over estimated speed, middle 80 %: ", quantile(speeds, 0.1), " to ",
          quantile(speeds, 0.9), "\n  ~ FLOPs:  ", summary(rival));
  CHECK(median_size(left_out) <= 0.12);
  CHECK(median_size(left_out) < median_size(rival));
  const auto inside = std::count_if(speeds.begin(), speeds.end(), [](double speed) {
    return speed >= kEstimateSpeedRange.first && speed <= kEstimateSpeedRange.second;
  });
  CHECK(inside >= std::lround(0.8 * static_cast<double>(speeds.size())));
}

TEST_CASE("step time: transfer between GPUs compared with published pairs") {
  struct Pair {
    const char* from;
    const char* to;
    double speedup;  ///< measured
  };
  constexpr Pair kPairs[] = {
      {"resnet50@V100:b112:fp32", "resnet50@A100:b112:fp32", 938. / 367},
      {"resnext101_32x4d@V100:b64:fp32", "resnext101_32x4d@A100:b64:fp32", 456. / 147},
      {"resnet50@V100:b32:fp32", "resnet50@A100:b32:fp32", 93.4 / 37.9},  // kernels of two traces
      {"resnet50@V100:b128:fp32", "resnet50@H100:b128:fp32", 348.5 / 69.9},
      {"bert-large@V100:b32:s128:fp32", "bert-large@A100:b32:s128:tf32", 317. / 50},
      {"bert-large@V100:b64:s128:amp", "bert-large@A100:b64:s128:amp", 580. / 224},
      {"bert-large@V100:b8:s384:fp32", "bert-large@A100:b8:s384:tf32", 61.5 / 12},
      {"bert-large@V100:b16:s384:amp", "bert-large@A100:b16:s384:amp", 110.5 / 52},
  };
  std::string report;
  std::vector<double> errors;
  std::vector<double> rival;
  int inside = 0;
  for (const Pair& pair : kPairs) {
    const auto setting = [](const char* text) {
      const EstimateSpec spec = parse_estimate_spec(text);
      return ComputeSetting{find_gpu(spec.gpu).value(), spec.precision, spec.batch.value()};
    };
    const EstimateSpec spec = parse_estimate_spec(pair.from);
    const Model model =
        spec.tokens ? find_model(spec.model, *spec.tokens).value() : find_model(spec.model).value();
    const Transfer transfer{setting(pair.from), setting(pair.to)};
    const double predicted = speedup(model, transfer);
    const double flops =
        peak({nullptr, model, transfer.to}) / peak({nullptr, model, transfer.from});
    errors.push_back(predicted / pair.speedup - 1);
    rival.push_back(flops / pair.speedup - 1);
    const double off = pair.speedup / predicted;
    inside += off >= kOtherGpuSpeedRange.first && off <= kOtherGpuSpeedRange.second ? 1 : 0;
    report += fmt::format(
        "\n  {:<30} -> {:<30} measured {:.2f}, predicted {:.2f} ({:+.0f} %), "
        "peak rates {:.2f} ({:+.0f} %)",
        pair.from, pair.to, pair.speedup, predicted, 100 * errors.back(), flops,
        100 * rival.back());
  }
  MESSAGE("speedups", report, "\n  transfer: ", summary(errors), "\n  peak rates: ", summary(rival),
          "\n  inside the interval: ", inside, " of ", std::size(kPairs));
  CHECK(median_size(errors) <= 0.20);
  CHECK(median_size(errors) < median_size(rival));
  CHECK(inside >= 6);
}

TEST_CASE("step time: no published step is shorter than the launches of the fastest host") {
  // The steps of one GPU above, and of 16 B200 under DDP on two nodes (mghpcc/aicr-benchmarks). The
  // latter shrink in proportion to the batch down to these values, so none of them is bound by its
  // host.
  struct Shortest {
    const char* spec;
    double step_ms;
  };
  constexpr Shortest kUnderDdp[] = {{"resnet50@B200:b64:bf16", 17.33},
                                    {"resnet101@B200:b64:bf16", 28.06},
                                    {"resnet152@B200:b64:bf16", 39.63}};
  const DdpCosts costs;
  const Duration fastest = costs.host_kernel.scaled(kHostKernelRange.first);
  const auto launches_ms = [&](const EstimateSpec& spec, bool under_ddp) {
    const Workload workload = estimate_workload(spec, find_gpu(spec.gpu).value());
    std::int64_t kernels = workload.launches->forward + workload.launches->optimizer;
    for (const std::int64_t one : workload.launches->backward) kernels += one;
    Duration host = fastest * kernels;
    if (under_ddp)
      host += (costs.host_hook + costs.host_copy_kernel) *
              static_cast<std::int64_t>(workload.parameters.size());
    return host.milliseconds();
  };
  std::string report;
  double nearest = 0;
  const auto check = [&](const char* text, double measured_ms, bool under_ddp) {
    const double host_ms = launches_ms(parse_estimate_spec(text), under_ddp);
    CAPTURE(text);
    CHECK(host_ms <= measured_ms);
    nearest = std::max(nearest, host_ms / measured_ms);
    if (host_ms > 0.3 * measured_ms)
      report +=
          fmt::format("\n  {:<28} step {:6.1f} ms, launches {:5.1f}", text, measured_ms, host_ms);
  };
  for (const PublishedStep& step : kSteps) {
    const EstimateSpec spec = parse_estimate_spec(step.spec);
    check(step.spec, 1e3 * static_cast<double>(spec.batch.value()) / step.samples_per_second,
          false);
  }
  for (const Shortest& step : kUnderDdp) check(step.spec, step.step_ms, true);
  MESSAGE("launches take at most ", nearest, " of a published step", report);
  // The bound must be close to some step.
  CHECK(nearest > 0.7);
}
