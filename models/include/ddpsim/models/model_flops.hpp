// Model FLOPs: what model FLOPs utilization (MFU) counts.
//
//   counted    2 floating-point operations a multiply-add of every matrix product and convolution: forward once, backward
//              once for each gradient that is asked for (of the input, of the weight)
//   attention  all scores, whether or not a causal mask hides half of them: two products forward, four backward
//   not        anything computed twice (activation checkpointing, a fused backward's scores), and what is no product
//
// Source: Chowdhery et al., "PaLM" (2022), appendix B, which counts 6 N + 12 L H Q T a token.
#pragma once

#include <optional>

#include "ddpsim/models/catalogue.hpp"
#include "ddpsim/models/layer_cost.hpp"
#include "ddpsim/sim/attribution/training_speed.hpp"
#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

SampleWork sample_work(const Model& model);

/// TFLOP/s of `gpu`'s tensor cores by its data sheet, where products of this precision run on them; 0: they do not. PyTorch
/// lets convolutions in fp32 use TF32 unless told otherwise.
double tensor_tflops(const GpuModel& gpu, Precision precision, bool convolution);

/// Seconds that the model FLOPs of a sample take at the data sheet's rate of one GPU. Absent where they are not known.
std::optional<double> seconds_at_peak(const SampleWork& sample, const GpuModel& gpu,
                                      Precision precision);

/// What all ranks of a job get through in a step.
StepWork step_work(const Job& job);

}  // namespace ddpsim
