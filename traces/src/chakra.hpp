// Chakra execution traces. They are recognised so that the message can say why they cannot be used.
//
// Three forms exist:
//
// - PyTorch's ExecutionTraceObserver writes JSON: {"schema": "1.…-chakra…", "nodes": [{"id",
//   "name", "ctrl_deps", "inputs", "outputs", "attrs"}]}. It holds host operators and their
//   dependencies, without any time.
// - chakra_trace_link joins it with the profiler's trace of the same steps. Nodes get "ts" and
//   "inclusive_dur". Kernels become nodes below the operator that launched them. The launches
//   (cuda_runtime events) are dropped.
// - The converter writes that as a stream of length-delimited protobuf messages: GlobalMetadata {1:
//   version}, then Node {1: id, 2: name, 3: type, 4: ctrl_deps, …, duration_micros} (et_def.proto
//   of mlcommons/chakra).
//
// A gradient is ready when the last kernel launched before the end of its AccumulateGrad has ended.
// Without launches, none of the forms shows this. The profiler's trace does, and everyone with a
// linked Chakra trace has one.
#pragma once

#include <string>
#include <string_view>

namespace ddpsim {

/// Recognises the protobuf form by its first messages.
bool is_chakra_protobuf(std::string_view head);

/// Names the JSON form of a text with "nodes" (or with nodes one after the other); empty for other
/// texts.
std::string chakra_json_form(std::string_view head);

/// What to do instead, for all forms.
extern const char* const kInsteadOfChakra;

}  // namespace ddpsim
