// A point of a sweep as a line of ddpsim.sweep/1, and such lines as rows of a tidy table and as a figure.
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

/// What an hour of the cluster costs, and the share of it that is training.
struct RowCost {
  double usd_per_hour = 0;
  double goodput = 1;
};

/// All that a point has to say; what is absent is null.
struct SweepRow {
  std::size_t point = 0;
  std::string workload;  ///< as the study names it
  std::string label;
  std::string cluster_text;                               ///< as the study has it, ranges expanded
  std::vector<std::pair<std::string, std::string>> grid;  ///< option, its value as a JSON token
  std::optional<Cluster> cluster;                         ///< absent where it cannot be read
  std::optional<StepTimes> times;                         ///< absent where there is no answer
  std::optional<Confidence> confidence;                   ///< absent without intervals
  std::string corrected_by;  ///< the candidate whose measured step it rests on; empty: on none
  StepWork work;
  std::optional<PeakMemory> memory;
  std::optional<RowCost> cost;
  std::vector<std::string> warnings;
  std::string error;  ///< why there is no answer
};

/// One line, with a newline at its end.
std::string sweep_line(const SweepRow& row);

/// A table whose rows are made from lines. `grid`: the options that vary, a column "--OPTION" each.
CsvTable sweep_table(const std::vector<std::string>& grid);

/// Training speed by number of GPUs: a curve for each workload on each cluster that is there in several sizes, through the
/// fastest points of the grid. Holds no more than it draws.
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
  std::map<std::pair<std::string, std::string>, std::size_t> index_;  ///< of workload and label
  std::size_t lines_ = 0;
  std::size_t without_answer_ = 0;
};

}  // namespace ddpsim
