// Tells by its first bytes what a file is, so that a wrong one gets a useful answer.
#pragma once

#include <string>
#include <string_view>

namespace ddpsim {

struct Recognition {
  enum class Kind { workload, profiler_trace, nsys_export, layer_table, ddp_log, other };
  Kind kind = Kind::other;
  std::string looks_like;  ///< other: "an nccl-tests log"; empty when nothing is known
  std::string hint;        ///< other: what to do with it
};

/// Of a step, with launches and GPU activities.
inline bool is_profile(const Recognition& file) {
  return file.kind == Recognition::Kind::profiler_trace ||
         file.kind == Recognition::Kind::nsys_export;
}

/// `head` is the uncompressed beginning; `whole` says that nothing follows.
Recognition recognise(std::string_view head, bool whole);

}  // namespace ddpsim
