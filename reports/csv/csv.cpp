// Comma-separated tables: units in the column names.
#include <fmt/format.h>

#include <optional>

#include "ddpsim/formats/csv.hpp"
#include "ddpsim/formats/csv_table.hpp"
#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/reports/reports.hpp"
#include "described_advice.hpp"
#include "described_assignment.hpp"
#include "described_collectives.hpp"
#include "described_curve.hpp"

namespace ddpsim {
namespace {

std::string text(std::int64_t value) {
  return std::to_string(value);
}

}  // namespace

std::string result_csv(const SimulationResult& result) {
  return csv_of(described_step_bucket(), numbered(result.step.buckets),
                {{"bucket", "index"},
                 "bytes",
                 {"tensors", "parameter_indices/length"},
                 "ready_us",
                 "launch_us",
                 "start_us",
                 "last_arrival_us",
                 "last_rank",
                 "end_us",
                 "algorithm",
                 "protocol",
                 "channels",
                 "closed_by",
                 "exposed_because"});
}

std::string collectives_csv(const SimulationResult& result) {
  return csv_of(described_step_collective(), result.step.collectives);
}

std::string tune_csv(const TuneResult& result) {
  return csv_of(described_curve_point(), result.curve,
                {"bucket_cap_mb",
                 "first_bucket_mb",
                 {"cap_low_mb", "cap_range_mb/0"},
                 {"cap_high_mb", "cap_range_mb/1"},
                 "iteration_us",
                 "exposed_communication_us",
                 "blocking_communication_us",
                 "buckets",
                 "reachable"});
}

std::string advice_csv(const Advice& advice) {
  return csv_of(described_advice_row(), advice.rows,
                {{"levers", "levers", " + "},
                 "line",
                 {"gain_us", "gain_us/value"},
                 {"low_us", "gain_us/low"},
                 {"high_us", "gain_us/high"},
                 "expected_gain_us",
                 "regret_us",
                 "iteration_us",
                 "memory_bytes",
                 "changes_numerics",
                 "changes_batch",
                 "worth",
                 "error",
                 "measure_first_because"});
}

std::string buckets_csv(const std::vector<Bucket>& buckets) {
  return csv_of(described_assigned_bucket(), assigned_buckets(buckets),
                {{"bucket", "index"},
                 "bytes",
                 {"tensors", "parameter_indices/length"},
                 "limit_bytes",
                 "closed_by",
                 "dtype",
                 "parameter_indices"});
}

std::string allreduce_csv(const AllReduceTable& table) {
  // As in JSON: all-reduces are what the table is of where nothing is said.
  const bool other = table.collective != CollectiveKind::all_reduce;
  const std::string collective = other ? std::string(name_of(table.collective)) + "," : "";
  std::string csv = other ? "collective," : "";
  csv +=
      "size_bytes,time_us,low_us,high_us,algbw_gbps,busbw_gbps,algorithm,protocol,channels,"
      "nccl_estimate_us";
  const bool beside = !table.rows.empty() && table.rows.front().other_ways;
  csv += beside ? ",ring_us,tree_us,reduce_broadcast_us\n" : "\n";
  for (const AllReduceRow& row : table.rows) {
    csv += collective;
    std::vector<std::string> cells = {
        text(row.size.count()),
        microseconds_token(row.time),
        microseconds_token(row.low),
        microseconds_token(row.high),
        fmt::format("{:.4f}", algbw_gbps(row.size, row.time)),
        fmt::format("{:.4f}", busbw_gbps(row.size, row.time, table.ranks, table.collective)),
        std::string(name_of(row.choice.algorithm)),
        std::string(name_of(row.choice.protocol)),
        std::to_string(row.choice.channels),
        microseconds_token(row.choice.nccl_estimate)};
    if (const auto& ways = row.other_ways) {
      for (const std::optional<Duration>& time : {ways->ring, ways->tree})
        cells.push_back(time ? microseconds_token(*time) : "");
      cells.push_back(microseconds_token(ways->reduce_broadcast));
    }
    csv += csv_row(cells);
  }
  return csv;
}

}  // namespace ddpsim
