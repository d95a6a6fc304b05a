// What jobs recorded of their own all-reduces during training: one record for each all-reduce on
// each rank.
//
// A record's time starts when the rank itself starts, so it includes the wait for the last rank and
// the slowdown by concurrent compute. If one collective was recorded on all ranks, the shortest
// time is the transfer, because the last rank waits for nobody. On fewer ranks each time is an
// upper bound, and the smallest one of a size is the closest.
//
// NCCL's inspector plugin (ext-profiler/inspector) writes a line of JSON for each:
//
//   {"header": {"id": "0x7f8c", "rank": 2, "n_ranks": 8, "nnodes": 1}, "metadata": {…},
//    "coll_perf": {"coll": "AllReduce", "coll_sn": 1407, "coll_msg_size_bytes": 1048576,
//                  "coll_exec_time_us": 61, "coll_algobw_gbs": 17.2, "coll_busbw_gbs": 30.1}}
//
// PyTorch's flight recorder writes JSON (torch._C._distributed_c10d._dump_nccl_trace_json) for one
// rank:
//
//   {"entries": [{"profiling_name": "nccl:all_reduce", "process_group": ["0", "default_pg"],
//                 "input_sizes": [[1048576]], "input_dtypes": ["Float"], "state": "completed",
//                 "duration_ms": 0.4}, …],
//    "pg_config": {"0": {"name": "0", "ranks": "[0, 1]"}}, "nccl_version": "2.21.5"}
//
// "duration_ms" is present only with TORCH_NCCL_ENABLE_TIMING=1.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "raw_log.hpp"

namespace ddpsim {

inline constexpr std::int64_t kMostNotedBytes = 1LL << 50;

inline constexpr const char* kBesideCompute =
    "recorded while a job ran: concurrent compute slowed them down, and whether they were in "
    "place is unknown";

/// The times of one all-reduce on the ranks that recorded it.
struct NotedCollective {
  std::int64_t bytes = 0;
  double least_us = 0;
  /// Arrival at the rank with the shortest time, if instants were recorded.
  double arrival_us = 0;
  std::set<std::int64_t> ranks;
  std::string place;
};

/// One row for each size: the median of `whole` collectives (on all ranks), or the smallest of
/// upper bounds.
RawRun run_of(const std::vector<NotedCollective>& collectives, bool whole, double half_unit_us);

bool is_inspector_log(std::string_view text);
RawLog scan_inspector_log(std::string_view text, const std::string& file);

bool is_flight_recording(std::string_view text);
RawLog scan_flight_recording(std::string_view text, const std::string& file);

}  // namespace ddpsim
