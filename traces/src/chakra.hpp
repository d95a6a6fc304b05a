// Chakra execution traces, recognised so that they can be refused with the reason.
//
// Three forms exist. PyTorch's ExecutionTraceObserver writes JSON, {"schema": "1.…-chakra…", "nodes":
// [{"id", "name", "ctrl_deps", "inputs", "outputs", "attrs"}]}: operators of the host with their
// dependencies and no time of any. chakra_trace_link joins it with the profiler's trace of the same
// steps: nodes get "ts" and "inclusive_dur", kernels become nodes below the operator that launched
// them, and the launches themselves (cuda_runtime events) are dropped. The converter writes that as
// a stream of length-delimited protobuf messages: GlobalMetadata {1: version}, then Node {1: id,
// 2: name, 3: type, 4: ctrl_deps, …, duration_micros} (et_def.proto of mlcommons/chakra).
//
// A gradient is ready when the last kernel launched before the end of its AccumulateGrad has ended:
// without launches none of the forms says when that is. The profiler's trace does, and who has a
// linked Chakra trace has it.
#pragma once

#include <string>
#include <string_view>

namespace ddpsim {

/// Protobuf form, by its first messages.
bool is_chakra_protobuf(std::string_view head);

/// JSON forms: what a text with "nodes" (or nodes one after the other) is; empty: none of them.
std::string chakra_json_form(std::string_view head);

/// What to do with any of them.
extern const char* const kInsteadOfChakra;

}  // namespace ddpsim
