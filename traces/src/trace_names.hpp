// Names of host events that identify a training step, and functions to search for names.
#pragma once

#include <string_view>

namespace ddpsim {

inline constexpr std::string_view kStepMarker = "ProfilerStep";
inline constexpr std::string_view kOptimizerStep = "Optimizer.step";
inline constexpr std::string_view kDataLoading = "enumerate(DataLoader)";
/// Part of "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__". Without workers the
/// name has _SingleProcessDataLoaderIter.
inline constexpr std::string_view kWorkersLoad = "#_MultiProcessing";
inline constexpr std::string_view kDdpForward = "DistributedDataParallel.forward";
inline constexpr std::string_view kCommsOperation = "record_param_comms";
inline constexpr std::string_view kGlooAllReduce = "gloo:all_reduce";
inline constexpr std::string_view kAccumulateGrad = "torch::autograd::AccumulateGrad";
/// Instant at which memory was allocated or freed.
inline constexpr std::string_view kAllocation = "[memory]";
/// Since PyTorch 1.10, encloses every autograd node, including hooks.
inline constexpr std::string_view kEvaluate = "autograd::engine::evaluate_function: ";
/// The only node of a backward that torch.compile generated.
inline constexpr std::string_view kCompiledBackward = "CompiledFunctionBackward";
inline constexpr std::string_view kReducerPrefix = "torch::distributed::reducer::";
inline constexpr std::string_view kCopyOut = "torch.distributed.ddp.reducer::copy_bucket_to_grad";

/// Replaces std::string_view::contains, which exists from C++23 on.
constexpr bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace ddpsim
