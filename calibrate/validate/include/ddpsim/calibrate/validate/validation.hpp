// A prediction laid over a measurement: every figure both of them name, with its error.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/calibrate/validate/step_times.hpp"
#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// One figure under a name that means the same wherever it stands.
struct NamedFigure {
  std::string name;  ///< "all_reduce 1048576 B", "iteration", "bucket 0 all_reduce"
  double us = 0;
  std::optional<double> low_us, high_us;  ///< the interval a prediction gives
  std::string place;                      ///< "line 7", "/rows/3"
};

/// An iteration time under a bucket cap.
struct CapFigure {
  std::optional<double> cap_mb;  ///< absent: PyTorch's default, nothing passed
  Bytes first, low, high;        ///< first limit, and the caps, in bytes, that bucket alike
  bool first_as_cap = false;     ///< the first limit is the cap itself
  NamedFigure figure;
};

/// What a file says.
struct Figures {
  std::string source;
  std::string kind;  ///< "a tuning curve (ddpsim.tune/1)", "an nccl-tests log" …
  std::vector<NamedFigure> rows;
  std::vector<CapFigure> caps;
  std::vector<Bytes>
      bucket_bytes;  ///< of the all-reduces among `rows`, on the wire; empty where not known
  /// Of a tuning curve: the cap it advises (absent inside: keep the default), if it advises one.
  std::optional<CapFigure> advised;
  std::optional<int> ranks;
  std::optional<int> nodes, gpus_per_node;
  std::string gpu;  ///< model; empty where nothing tells
  std::vector<std::string>
      calibrated_by;   ///< digests of logs that calibrated a prediction's cluster
  std::string digest;  ///< of a measurement's all-reduces; empty where it has none
  std::vector<std::string> recognised;
  std::vector<std::string> warnings;
};

/// A result, tuning curve, all-reduce table, timeline, measurement or workload of ours, a trace, an
/// nccl-tests log or JSON, a CSV of sizes or of caps (`bucket_cap_mb,iteration_us`), or a step time
/// such as "104ms". LOG@NxG states a shape. Throws InputError.
Figures read_figures(std::string_view argument);
/// The same of what was measured, which may be step times, too: FILE, FILE:KEY, FILE:KEY=UNIT or "9.6it/s". Of several the
/// median is the iteration's figure. `known`: the job's, for times that only samples a second tell.
Figures read_measured_figures(std::string_view argument, const StepTimesAsked& known);

struct ValidationRow {
  std::string name;
  std::string unit = "us";
  double measured = 0;
  double predicted = 0;
  double error_percent = 0;             ///< (predicted - measured) / measured
  std::optional<bool> within_interval;  ///< absent where the prediction gives none
};

/// What is said where a measurement judges the cluster that it calibrated.
inline constexpr std::string_view kOwnCalibration =
    "The cluster was calibrated by this very measurement, so this error proves nothing: validate "
    "with a log that calibrate was not given";

/// What choosing a cap by the prediction would have cost.
struct CapValidation {
  std::string chosen;         ///< "bucket_cap_mb=50", "default"
  std::string measured_best;  ///< … of those measured
  /// (measured(chosen) - measured(best)) / measured(best); absent where the chosen one was not
  /// measured.
  std::optional<double> regret_percent;
  int pairs = 0;       ///< of measured caps that differ by more than 2 %
  int right_sign = 0;  ///< … in which the prediction differs the same way
};

struct Validation {
  std::vector<ValidationRow> rows;
  double median_abs_error_percent = 0;
  double p90_abs_error_percent = 0;
  double worst_abs_error_percent = 0;
  std::string worst_name;
  int intervals = 0;         ///< rows whose prediction gives an interval …
  int within_intervals = 0;  ///< … and how many measurements lie in it
  /// The cluster was calibrated by this very measurement, and gives it back: small errors prove nothing.
  bool own_calibration = false;
  std::optional<CapValidation> caps;
  std::vector<std::string> notes;
};

/// `only`: names, or beginnings of names, of the rows wanted; empty: all. Throws InputError where
/// nothing is in common, units were mixed up, or the two are of different
/// numbers of ranks or nodes.
Validation validate(const Figures& predicted, const Figures& measured,
                    const std::vector<std::string>& only = {});

}  // namespace ddpsim
