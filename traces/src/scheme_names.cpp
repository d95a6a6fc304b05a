#include "scheme_names.hpp"

#include <algorithm>
#include <iterator>

#include "trace_names.hpp"

namespace ddpsim {
namespace {

struct SchemeMark {
  std::string_view text;
  NamedScheme scheme;
};

/// Names in PyTorch come from torch/distributed/fsdp (record_function; RegisterPostBackwardFunction
/// belongs to FSDP 2) and torch/nn/parallel. BroadcastBackward belongs to DataParallel's replicas;
/// its Gather node would look like that of aten::gather. Names of DeepSpeed come from
/// runtime/zero/parameter_offload.py and linear.py, those of Megatron-LM from core/tensor_parallel.
constexpr SchemeMark kBeginnings[] = {
    {"FullyShardedDataParallel", NamedScheme::fsdp},
    {"FSDP::", NamedScheme::fsdp2},
    {"fsdp::", NamedScheme::fsdp2},
    {"RegisterPostBackwardFunction", NamedScheme::fsdp2},
    {"DeepSpeed", NamedScheme::deepspeed},
    {"deepspeed", NamedScheme::deepspeed},
    {"PreBackwardFunctionForModule", NamedScheme::deepspeed},
    {"PostBackwardFunctionModule", NamedScheme::deepspeed},
    {"LinearFunctionForZeroStage3", NamedScheme::deepspeed},
    {"megatron", NamedScheme::megatron},
    {"LinearWithGradAccumulationAndAsyncCommunication", NamedScheme::megatron},
    {"_CopyToModelParallelRegion", NamedScheme::megatron},
    {"_ReduceFromModelParallelRegion", NamedScheme::megatron},
    {"_VocabParallelCrossEntropy", NamedScheme::megatron},
    {"horovod", NamedScheme::horovod},
    {"Horovod", NamedScheme::horovod},
    {"HOROVOD_", NamedScheme::horovod},
    {"DataParallel.forward", NamedScheme::data_parallel},
    {"DataParallel_", NamedScheme::data_parallel},
    {"BroadcastBackward", NamedScheme::data_parallel},
    {"SyncBatchNorm", NamedScheme::sync_batch_norm}};

/// Files whose functions run only in a step of that scheme. An installed package alone is not
/// enough.
constexpr SchemeMark kMarkedFiles[] = {{"deepspeed/runtime/engine.py(", NamedScheme::deepspeed},
                                       {"megatron/core/distributed/", NamedScheme::megatron},
                                       {"horovod/torch/", NamedScheme::horovod}};

}  // namespace

std::optional<NamedScheme> named_scheme(std::string_view name) {
  constexpr std::string_view kModule = "nn.Module: ";
  const auto scheme_of = [](const auto& marks, const auto& matches) {
    const auto found = std::ranges::find_if(marks, matches, &SchemeMark::text);
    return found == std::end(marks) ? std::nullopt : std::optional(found->scheme);
  };
  if (name.starts_with("aten::")) return std::nullopt;  // most of the events
  if (contains(name, ".py("))
    return scheme_of(kMarkedFiles, [&](std::string_view file) { return contains(name, file); });
  if (name.starts_with(kModule)) name.remove_prefix(kModule.size());
  return scheme_of(kBeginnings, [&](std::string_view text) { return name.starts_with(text); });
}

}  // namespace ddpsim
