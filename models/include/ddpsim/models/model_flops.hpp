// Model FLOPs: the work that model FLOPs utilization (MFU) counts.
//
//   counted    2 floating-point operations per multiply-add of every matrix product and
//              convolution. Forward counts once. Backward counts once for each gradient that is
//              needed (of the input, of the weight).
//   attention  All scores count, even if a causal mask hides half of them. Forward runs two
//              products and backward four.
//   left out   Work that is done twice (activation checkpointing, scores in a fused backward) and
//              all layers without products.
//
// Source: Chowdhery et al., "PaLM" (2022), appendix B, which counts 6 N + 12 L H Q T per token.
#pragma once

#include <optional>

#include "ddpsim/models/catalogue.hpp"
#include "ddpsim/models/layer_cost.hpp"
#include "ddpsim/sim/attribution/training_speed.hpp"
#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

SampleWork sample_work(const Model& model);

/// TFLOP/s of the tensor cores of `gpu`, from its data sheet. Returns 0 if products of this
/// precision do not run on them. PyTorch lets fp32 convolutions use TF32 unless told otherwise.
double tensor_tflops(const GpuModel& gpu, Precision precision, bool convolution);

/// Seconds that one sample's model FLOPs take on one GPU at the data sheet's rate. Absent if the
/// FLOPs are unknown.
std::optional<double> seconds_at_peak(const SampleWork& sample, const GpuModel& gpu,
                                      Precision precision);

/// Samples, tokens and model FLOPs of all ranks of a job in one step.
StepWork step_work(const Job& job);

}  // namespace ddpsim
