// Recognises a file by its first bytes, so that a wrong file gets a useful answer.
#pragma once

#include <string>
#include <string_view>

namespace ddpsim {

struct Recognition {
  enum class Kind { workload, profiler_trace, nsys_export, layer_table, ddp_log, other };
  Kind kind = Kind::other;
  /// For `other`: "an nccl-tests log"; empty if nothing is known.
  std::string looks_like;
  std::string hint;  ///< for `other`: what to do with it
};

/// Whether it is a profile of a step, with launches and GPU activities.
inline bool is_profile(const Recognition& file) {
  return file.kind == Recognition::Kind::profiler_trace ||
         file.kind == Recognition::Kind::nsys_export;
}

/// `head` is the decompressed beginning. `whole` means that nothing follows.
Recognition recognise(std::string_view head, bool whole);

}  // namespace ddpsim
