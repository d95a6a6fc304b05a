// Data that joins the recording of one rank to those of the other ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// One NCCL kernel on one rank. Its duration includes the wait for the last rank and the transfer.
struct RankCollective {
  std::string operation;       ///< "allreduce", "alltoall", …
  std::optional<Bytes> bytes;  ///< absent where not recorded
  std::int64_t start_ns = 0;   ///< on the trace's own clock
  std::int64_t end_ns = 0;
  std::string group = {};                     ///< process group; empty if not recorded
  std::optional<std::int64_t> sequence = {};  ///< number in its group, equal on all ranks
};

struct RankTrace {
  std::optional<std::int64_t> rank;
  std::optional<int> world_size;
  std::string step;  ///< name of the marker: "ProfilerStep#10"
  /// Start of the step's forward, on the trace's own clock.
  std::int64_t forward_start_ns = 0;
  std::vector<RankCollective> collectives;  ///< those of the step, in launch order
  /// The job may have more ranks than `world_size`, because only the size of a process group is
  /// known.
  bool world_at_least = false;
  /// Each end is the time when the host noticed it, which may be much later.
  bool on_host_clock = false;
};

}  // namespace ddpsim
