// Where a job comes from: what was asked for, what was assumed, and what was recorded of it.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/sim/tune/recorded_job.hpp"

namespace ddpsim {

struct Provenance {
  std::string workload_source;  ///< as asked for: a name, a file, MODEL@GPU
  std::string cluster_source;   ///< as asked for: a name, a file, a description
  std::optional<std::string> label =
      {};                     ///< what it is called among others; absent: by its cluster
  bool torch_known = true;    ///< false: nothing says which version, and one is assumed
  bool scheme_asked = false;  ///< false: DDP, because nobody asked for another
  std::optional<RecordedJob> recorded = {};  ///< what the recorded job did
  bool calibrated_by_recording = false;      ///< its all-reduces moved the cost model
};

}  // namespace ddpsim
