// What joins the recording of one rank to those of the other ranks of its job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// One NCCL kernel on one rank. Its duration holds the wait for the last rank and the transfer.
struct RankCollective {
  std::string operation;       ///< "allreduce", "alltoall", …
  std::optional<Bytes> bytes;  ///< absent where not recorded
  std::int64_t start_ns = 0;   ///< on the trace's own clock
  std::int64_t end_ns = 0;
  std::string group = {};                     ///< of processes; empty where not recorded
  std::optional<std::int64_t> sequence = {};  ///< number in its group, alike on all ranks
};

struct RankTrace {
  std::optional<std::int64_t> rank;
  std::optional<int> world_size;
  std::string step;                         ///< name of the marker: "ProfilerStep#10"
  std::int64_t forward_start_ns = 0;        ///< of that step, on the trace's own clock
  std::vector<RankCollective> collectives;  ///< of that step, in order of launch
  bool world_at_least =
      false;  ///< the job may have more ranks than `world_size`: it is not stated, but of a group
  bool on_host_clock = false;  ///< an end is when the host saw it, which may be long after
};

}  // namespace ddpsim
