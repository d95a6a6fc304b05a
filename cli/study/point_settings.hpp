// The options of the points of a study, which are those of `compare`. They are parsed once for each combination of values.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "candidate_arguments.hpp"
#include "money_arguments.hpp"
#include "sweep_study.hpp"

namespace CLI {
class App;
}

namespace ddpsim {

struct PointArguments : CandidateArguments {
  MoneyArguments money;
  /// --no-tune of `compare`, which takes the same studies. Points of a sweep are never tuned.
  bool no_tune = false;
};

/// The parsed options of a combination, or why they cannot be parsed.
struct PointSettings {
  std::optional<PointArguments> arguments;
  JobRequest request;                            ///< without workload and cluster
  std::vector<std::optional<Price>> stated;      ///< --price, by candidate
  std::vector<Ownership> owned;                  ///< by candidate
  std::vector<std::optional<Failures>> failing;  ///< by candidate
  std::string problem;
  /// The same number for combinations that differ only in options that decide buckets or costs. Such jobs take the same step if their
  /// buckets are equal. Absent for a measured step whose options no point has.
  std::optional<std::size_t> alike;
};

/// Parses the options of a study for one combination after the other.
class PointParser {
 public:
  PointParser();
  ~PointParser();
  PointParser(const PointParser&) = delete;
  PointParser& operator=(const PointParser&) = delete;

  /// Returns the command that has the options.
  const CLI::App& command() const { return *command_; }
  PointSettings parse(const std::vector<StudyOption>& options,
                      const std::vector<Candidate>& candidates);

 private:
  std::unique_ptr<PointArguments> arguments_;
  std::unique_ptr<CLI::App> program_;
  CLI::App* command_;
};

/// The options of all combinations of a study. Can be used from any thread.
class StudySettings {
 public:
  /// Throws InputError, with its place in the study, if a value is wrong in every combination.
  explicit StudySettings(const SweepStudy& study);

  /// Parses the options of a combination each time, since all combinations may not fit into memory.
  PointSettings of(std::size_t combination) const;
  /// Returns the options of the jobs whose steps were measured, if any.
  const std::optional<PointSettings>& measured() const { return measured_; }

 private:
  PointSettings parse(const std::vector<StudyOption>& options) const;

  const SweepStudy& study_;
  mutable std::mutex mutex_;  ///< of the parser
  mutable PointParser parser_;
  std::optional<PointSettings> measured_;
};

/// Returns "where: message".
std::string reason_of(const InputError& error);

}  // namespace ddpsim
