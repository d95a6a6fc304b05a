// Compares estimates with published steps of decoders that were trained under FSDP.
//
// Such a step includes communication: gathering and scattering within a node with NVSwitch, or
// between eight nodes with at least 200 Gbit/s per GPU. Most of it overlaps compute. So an estimate
// should be slightly too short, and never too long.
//
// Not included are float8 and context parallelism (other arithmetic), more than eight nodes
// (communication), and torch.compile if the same row exists without it (it fuses kernels that are
// counted separately).
//
// Rows are facts from mosaicml/llm-foundry (scripts/train/benchmarking), pytorch/torchtitan (its
// performance tables and pull request 165), and a Hugging Face blog (Granite 7B).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "ddpsim/models/estimate.hpp"
#include "ddpsim/sim/values/quantile.hpp"
#include "ddpsim/topologies/cluster_source.hpp"

using namespace ddpsim;

namespace {

struct DecoderRow {
  const char* source;
  const char* spec;
  double tokens_per_second;  ///< of one GPU
};

constexpr DecoderRow kRows[] = {
    {"llm-foundry", "mpt-7b@H100:b6:s2048:bf16-true", 10643},
    {"llm-foundry", "mpt-13b@H100:b2:s2048:bf16-true", 4792},
    {"llm-foundry", "mpt-1b@H100:b14:s2048:bf16-true", 45455},
    {"llm-foundry", "mpt-760m@H100:b24:s2048:bf16-true", 63147},
    {"llm-foundry", "mpt-30b@H100:b3:s2048:bf16-true:ckpt=full", 2002},
    {"llm-foundry", "mpt-13b@A100:b2:s2048:bf16-true", 2262},
    {"llm-foundry", "mpt-7b@A100:b6:s2048:bf16-true", 4641},
    {"llm-foundry", "mpt-3b@A100:b10:s2048:bf16-true", 10811},
    {"llm-foundry", "mpt-1b@A100:b14:s2048:bf16-true", 20513},
    {"llm-foundry", "mpt-760m@A100:b24:s2048:bf16-true", 32434},
    {"llm-foundry", "mpt-350m@A100:b32:s2048:bf16-true", 58782},
    {"llm-foundry", "mpt-125m@A100:b40:s2048:bf16-true", 142830},
    {"llm-foundry", "mpt-30b@A100:b3:s2048:bf16-true:ckpt=full", 916},
    {"llm-foundry", "mpt-13b@A100:b4:s2048:bf16-true:ckpt=full", 1668},  // 40 GB
    {"llm-foundry", "mpt-7b@A100:b12:s2048:bf16-true:ckpt=full", 3679},  // 40 GB
    {"torchtitan", "llama2-7b@H100:b8:s2048:bf16-true:ckpt=full", 6200},
    {"torchtitan", "llama2-7b@H100:b8:s2048:bf16-true:ckpt=selective", 6700},
    {"torchtitan", "llama2-7b@H100:b8:s2048:bf16-true", 9200},  // compiled
    {"torchtitan", "llama3-8b@H100:b2:s8192:bf16-true:ckpt=selective", 5762},
    // eight nodes, also the following rows
    {"torchtitan", "llama2-13b@A100:b2:s4096:bf16-true", 2162},
    {"torchtitan", "llama2-13b@A100:b2:s4096:bf16-true:ckpt=selective", 1904},
    {"torchtitan", "llama3-8b@A100:b1:s8192:bf16-true:ckpt=selective", 2973},
    {"torchtitan", "llama2-70b@A100:b1:s4096:bf16-true:ckpt=selective", 355},
    {"torchtitan", "llama2-70b@A100:b2:s4096:bf16-true:ckpt=full", 353},
    {"torchtitan", "llama3-70b@A100:b1:s8192:bf16-true:ckpt=full", 331},
    {"Hugging Face", "llama2-7b@A100:b8:s4096:bf16-true:ckpt=full", 3158.7},
};

double measured_ms(const DecoderRow& row) {
  const EstimateSpec spec = parse_estimate_spec(row.spec);
  return 1e3 * static_cast<double>(*spec.batch * *spec.tokens) / row.tokens_per_second;
}

/// The optimizer is left out: it is sharded over all GPUs, or runs once for many micro-batches.
double estimated_ms(const DecoderRow& row) {
  const EstimateSpec spec = parse_estimate_spec(row.spec);
  const Workload workload = estimate_workload(spec, find_gpu(spec.gpu).value());
  return (*workload.forward + workload.backward->duration).milliseconds();
}

/// Time of the model FLOPs at the peak rate.
double at_peak_ms(const DecoderRow& row) {
  const EstimateSpec spec = parse_estimate_spec(row.spec);
  double multiply_adds = 0;
  for (const Layer& layer : model_of(spec).layers) {
    if (layer.product) multiply_adds += layer.product->multiply_adds();
    if (layer.fused) multiply_adds += layer.fused->multiply_adds();
  }
  return 1e3 * 6 * multiply_adds * static_cast<double>(*spec.batch) /
         (find_gpu(spec.gpu).value().half_tflops * 1e12);
}

std::string told(std::vector<double> errors) {
  for (double& error : errors) error = std::abs(error);
  return fmt::format("median {:.1f} %, p90 {:.1f} %, worst {:.1f} %", 100 * median(errors),
                     100 * quantile(errors, 0.9), 100 * quantile(errors, 1));
}

double median_error(std::vector<double> errors) {
  for (double& error : errors) error = std::abs(error);
  return median(std::move(errors));
}

}  // namespace

TEST_CASE("decoder steps: estimated compute compared with steps published under FSDP") {
  // The baseline: one share of the peak for all rows, fitted to the other sources.
  std::map<std::string, double> share;
  for (const DecoderRow& row : kRows) {
    std::vector<double> shares;
    for (const DecoderRow& other : kRows)
      if (std::string_view(other.source) != row.source)
        shares.push_back(at_peak_ms(other) / measured_ms(other));
    share[row.source] = median(shares);
  }
  std::string report;
  std::vector<double> errors;
  std::vector<double> rival;
  for (const DecoderRow& row : kRows) {
    const double measured = measured_ms(row);
    const double estimate = estimated_ms(row);
    errors.push_back(estimate / measured - 1);
    rival.push_back(at_peak_ms(row) / share[row.source] / measured - 1);
    report += fmt::format(
        "\n  {:<12} {:<52} measured {:8.1f} ms, estimate {:8.1f} ({:+.0f} %), ~ FLOPs {:+.0f} %",
        row.source, row.spec, measured, estimate, 100 * errors.back(), 100 * rival.back());
  }
  MESSAGE("decoder steps", report, "\n  estimate: ", told(errors), "\n  ~ FLOPs:  ", told(rival));
  CHECK(median_error(errors) <= 0.10);
  CHECK(median_error(errors) < 0.6 * median_error(rival));
  for (const double error : errors) {
    CHECK(error <= 0.05);  // communication comes on top
    CHECK(error >= -0.25);
  }
}
