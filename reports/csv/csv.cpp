// The tables of most commands: their columns and the order of these. The descriptions in
// reports/json define the cells.
#include "ddpsim/formats/csv_table.hpp"
#include "ddpsim/reports/reports.hpp"
#include "described_advice.hpp"
#include "described_allreduce.hpp"
#include "described_assignment.hpp"
#include "described_collectives.hpp"
#include "described_curve.hpp"

namespace ddpsim {

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

std::string tune_csv(const TuneReport& report) {
  return csv_of(described_curve_step(), curve_steps(report),
                {"bucket_cap_mb",
                 "first_bucket_mb",
                 {"cap_low_mb", "cap_range_mb/0"},
                 {"cap_high_mb", "cap_range_mb/1"},
                 "iteration_us",
                 "exposed_communication_us",
                 "blocking_communication_us",
                 "buckets",
                 "reachable",
                 "samples_per_second"});
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
  return csv_of(described_allreduce_size(), allreduce_sizes(table));
}

}  // namespace ddpsim
