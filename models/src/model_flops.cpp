#include "ddpsim/models/model_flops.hpp"

namespace ddpsim {
namespace {

constexpr double kPerMultiplyAdd = 2;

/// Passes of a product: forward, and the gradients that backward computes.
int passes(const Layer& layer) {
  if (!layer.reached) return 1;
  return 1 + (layer.data_gradient && layer.passes_on ? 1 : 0) + (layer.trains ? 1 : 0);
}

double flops_of(const FusedAttention& fused, bool reached) {
  const double scores = fused.multiply_adds() * (fused.causal ? 2 : 1);
  constexpr double kWithBackward = 3;
  return kPerMultiplyAdd * scores * (reached ? kWithBackward : 1);
}

}  // namespace

SampleWork sample_work(const Model& model) {
  SampleWork work;
  if (model.sample == SampleKind::sequence) work.tokens = model.sample_size;
  for (const Layer& layer : model.layers) {
    double flops = layer.fused ? flops_of(*layer.fused, layer.reached) : 0;
    if (layer.product) flops += kPerMultiplyAdd * passes(layer) * layer.product->multiply_adds();
    work.flops += flops;
    if (layer.kind == LayerKind::convolution) work.convolution_flops += flops;
  }
  return work;
}

double tensor_tflops(const GpuModel& gpu, Precision precision, bool convolution) {
  if (is_half(precision)) return gpu.half_tflops;
  // cuDNN uses TensorFloat-32 by default, MIOpen does not.
  const bool unasked = convolution && gpu.vendor == GpuVendor::nvidia;
  return unasked || precision == Precision::tf32 ? gpu.tf32_tflops : 0;
}

std::optional<double> seconds_at_peak(const SampleWork& sample, const GpuModel& gpu,
                                      Precision precision) {
  if (sample.flops <= 0) return std::nullopt;
  constexpr double kTera = 1e12;
  const auto rate = [&](bool convolution) {
    const double tensor = tensor_tflops(gpu, precision, convolution);
    return kTera * (tensor > 0 ? tensor : gpu.fp32_tflops);
  };
  if (rate(false) <= 0 || rate(true) <= 0) return std::nullopt;
  return sample.convolution_flops / rate(true) +
         (sample.flops - sample.convolution_flops) / rate(false);
}

StepWork step_work(const Job& job) {
  const Workload& workload = job.workload();
  StepWork work;
  if (!workload.batch_per_gpu) return work;
  const double samples_of_rank =
      static_cast<double>(*workload.batch_per_gpu) * job.options().accumulate;
  work.samples = samples_of_rank * job.cluster().ranks();
  if (!workload.sample) return work;
  if (workload.sample->tokens > 0)
    work.tokens = *work.samples * static_cast<double>(workload.sample->tokens);
  if (const auto precision = precision_from_name(workload.precision))
    if (const auto each = seconds_at_peak(*workload.sample, job.cluster().gpu, *precision))
      work.seconds_at_peak = samples_of_rank * *each;
  return work;
}

}  // namespace ddpsim
