// Writes a point of a sweep as a line of ddpsim.sweep/1, and such lines as a tidy table and as a
// plot.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ddpsim/formats/csv_table.hpp"
#include "ddpsim/formats/sweep_file.hpp"
#include "ddpsim/sim/attribution/training_speed.hpp"
#include "ddpsim/sim/certainty/confidence.hpp"
#include "ddpsim/sim/memory/memory.hpp"
#include "ddpsim/sim/step/result.hpp"
#include "ddpsim/sim/values/cluster.hpp"

namespace ddpsim {

/// Cost of an hour of the cluster, and the share of the time that is training.
struct RowCost {
  double usd_per_hour = 0;
  double goodput = 1;
};

/// Everything about a point. Absent values become null.
struct SweepRow {
  std::size_t point = 0;
  std::string workload;  ///< as the study names it
  std::string label;
  std::string cluster_text;  ///< as in the study, ranges expanded
  /// Each option and its value as a JSON token.
  std::vector<std::pair<std::string, std::string>> grid;
  std::optional<Cluster> cluster;        ///< absent if unreadable
  std::optional<StepTimes> times;        ///< absent without an answer
  std::optional<Confidence> confidence;  ///< absent without intervals
  /// The candidate whose measured step corrects this point; empty if none does.
  std::string corrected_by;
  StepWork work;
  std::optional<PeakMemory> memory;
  std::optional<RowCost> cost;
  std::vector<std::string> warnings;
  std::string error;  ///< why there is no answer
};

/// One line that ends with a newline.
std::string sweep_line(const SweepRow& row);

/// A table whose rows are made from lines. Each option of `grid` becomes a column "--OPTION".
CsvTable sweep_table(const std::vector<std::string>& grid);

/// Plots training speed by number of GPUs. Each workload has a curve for each cluster that occurs
/// in several sizes, through the fastest points of the grid. Keeps only what it draws.
class SweepCurves {
 public:
  explicit SweepCurves(SweepHeader header);
  ~SweepCurves();
  SweepCurves(const SweepCurves&) = delete;
  SweepCurves& operator=(const SweepCurves&) = delete;

  void add(std::string_view line);
  std::string svg() const;

 private:
  struct Point;
  struct Drawing;
  const SweepHeader header_;
  std::vector<Point> points_;
  std::map<std::pair<std::string, std::string>, std::size_t> index_;  ///< by workload and label
  std::size_t lines_ = 0;
  std::size_t without_answer_ = 0;
};

}  // namespace ddpsim
