// Compares a prediction with a measurement: every value that both name, with its error.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/calibrate/validate/step_times.hpp"
#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// One value with a name that means the same in every file.
struct NamedFigure {
  std::string name;  ///< "all_reduce 1048576 B", "iteration", "bucket 0 all_reduce"
  double us = 0;
  std::optional<double> low_us, high_us;  ///< interval of a prediction
  std::string place;                      ///< "line 7", "/rows/3"
};

/// An iteration time under a bucket cap.
struct CapFigure {
  std::optional<double> cap_mb;  ///< absent: PyTorch's default, nothing passed
  /// First limit and range of caps in bytes that give the same buckets.
  Bytes first, low, high;
  bool first_as_cap = false;  ///< the first limit equals the cap
  NamedFigure figure;
};

/// The content of a file.
struct Figures {
  std::string source;
  std::string kind;  ///< "a tuning curve (ddpsim.tune/1)", "an nccl-tests log" …
  std::vector<NamedFigure> rows;
  std::vector<CapFigure> caps;
  /// Sizes on the wire of the all-reduces in `rows`. Empty if not known.
  std::vector<Bytes> bucket_bytes;
  /// The cap that a tuning curve recommends, if any. A cap that is absent inside means: keep the
  /// default.
  std::optional<CapFigure> advised;
  std::optional<int> ranks;
  std::optional<int> nodes, gpus_per_node;
  std::string gpu;  ///< model; empty if unknown
  /// Digests of the logs that calibrated a prediction's cluster.
  std::vector<std::string> calibrated_by;
  /// Digest of a measurement's all-reduces; empty if it has none.
  std::string digest;
  std::vector<std::string> recognised;
  std::vector<std::string> warnings;
};

/// Reads one of these: a result, tuning curve, all-reduce table, timeline, measurement or workload
/// of ours, a trace, or an nccl-tests log or JSON. It also reads a CSV of sizes or of caps
/// (`bucket_cap_mb,iteration_us`), and a step time such as "104ms". LOG@NxG states a shape. Throws
/// InputError.
Figures read_figures(std::string_view argument);
/// Reads a measurement: anything that read_figures reads, or step times (FILE, FILE:KEY,
/// FILE:KEY=UNIT or "9.6it/s"). The iteration is the median of several steps. `known` describes the
/// job, for times given only as samples per second.
Figures read_measured_figures(std::string_view argument, const StepTimesAsked& known);

struct ValidationRow {
  std::string name;
  std::string unit = "us";
  double measured = 0;
  double predicted = 0;
  double error_percent = 0;             ///< (predicted - measured) / measured
  std::optional<bool> within_interval;  ///< absent if the prediction has none
};

/// Note for a measurement that judges a cluster calibrated with it.
inline constexpr std::string_view kOwnCalibration =
    "This same measurement calibrated the cluster, so this error proves nothing. Validate with a "
    "log that was not given to calibrate";

/// The cost of choosing a cap by the prediction.
struct CapValidation {
  std::string chosen;         ///< "bucket_cap_mb=50", "default"
  std::string measured_best;  ///< best of those measured
  /// (measured(chosen) - measured(best)) / measured(best). Absent if the chosen cap was not
  /// measured.
  std::optional<double> regret_percent;
  /// Pairs of measured caps that differ by more than 2 %.
  int pairs = 0;
  /// Pairs that the prediction orders the same way.
  int right_sign = 0;
};

struct Validation {
  std::vector<ValidationRow> rows;
  double median_abs_error_percent = 0;
  double p90_abs_error_percent = 0;
  double worst_abs_error_percent = 0;
  std::string worst_name;
  int intervals = 0;         ///< rows whose prediction has an interval
  int within_intervals = 0;  ///< measurements inside that interval
  /// Whether this same measurement calibrated the cluster. Small errors then prove nothing.
  bool own_calibration = false;
  std::optional<CapValidation> caps;
  std::vector<std::string> notes;
};

/// `only` lists names of the wanted rows, or their beginnings; empty: all rows. Throws InputError
/// if nothing is in common, units were mixed up, or the numbers of ranks or nodes differ.
Validation validate(const Figures& predicted, const Figures& measured,
                    const std::vector<std::string>& only = {});

}  // namespace ddpsim
