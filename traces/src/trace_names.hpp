// Names of events on the host by which a training step is recognised, and how names are looked for.
#pragma once

#include <string_view>

namespace ddpsim {

inline constexpr std::string_view kStepMarker = "ProfilerStep";
inline constexpr std::string_view kOptimizerStep = "Optimizer.step";
inline constexpr std::string_view kDataLoading = "enumerate(DataLoader)";
/// "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"; without workers it is a _SingleProcessDataLoaderIter.
inline constexpr std::string_view kWorkersLoad = "#_MultiProcessing";
inline constexpr std::string_view kDdpForward = "DistributedDataParallel.forward";
inline constexpr std::string_view kCommsOperation = "record_param_comms";
inline constexpr std::string_view kGlooAllReduce = "gloo:all_reduce";
inline constexpr std::string_view kAccumulateGrad = "torch::autograd::AccumulateGrad";
/// An instant at which memory was allocated or freed.
inline constexpr std::string_view kAllocation = "[memory]";
/// Around every autograd node since PyTorch 1.10, hooks included.
inline constexpr std::string_view kEvaluate = "autograd::engine::evaluate_function: ";
/// The one node of a backward that torch.compile made.
inline constexpr std::string_view kCompiledBackward = "CompiledFunctionBackward";
inline constexpr std::string_view kReducerPrefix = "torch::distributed::reducer::";
inline constexpr std::string_view kCopyOut = "torch.distributed.ddp.reducer::copy_bucket_to_grad";

/// std::string_view has it from C++23 on.
constexpr bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace ddpsim
