// What a study says of its points beside workload and candidate: the options of `compare`, parsed once for each combination.
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
  bool no_tune = false;  ///< of `compare`, which takes the same studies: a point is never tuned
};

/// What a combination of options says, or why it says nothing.
struct PointSettings {
  std::optional<PointArguments> arguments;
  JobRequest request;                            ///< but for workload and cluster
  std::vector<std::optional<Price>> stated;      ///< by candidate, what --price says
  std::vector<Ownership> owned;                  ///< by candidate
  std::vector<std::optional<Failures>> failing;  ///< by candidate
  std::string problem;
  /// The same for combinations that differ at most in options that decide buckets, or money: of such jobs those with the
  /// same buckets take the same step. Absent: of steps that were measured with what no point has.
  std::optional<std::size_t> alike;
};

/// Takes options of a study again and again.
class PointParser {
 public:
  PointParser();
  ~PointParser();
  PointParser(const PointParser&) = delete;
  PointParser& operator=(const PointParser&) = delete;

  /// The options there are.
  const CLI::App& command() const { return *command_; }
  PointSettings parse(const std::vector<StudyOption>& options,
                      const std::vector<Candidate>& candidates);

 private:
  std::unique_ptr<PointArguments> arguments_;
  std::unique_ptr<CLI::App> program_;
  CLI::App* command_;
};

/// Of all combinations of a study's options. From any thread.
class StudySettings {
 public:
  /// Throws InputError, at the study's place, where a value makes no sense in any combination.
  explicit StudySettings(const SweepStudy& study);

  /// Parsed anew: there may be more combinations than would fit into memory.
  PointSettings of(std::size_t combination) const;
  /// Of jobs whose steps were measured, where any was.
  const std::optional<PointSettings>& measured() const { return measured_; }

 private:
  PointSettings parse(const std::vector<StudyOption>& options) const;

  const SweepStudy& study_;
  mutable std::mutex mutex_;  ///< of the parser
  mutable PointParser parser_;
  std::optional<PointSettings> measured_;
};

/// "where: message"
std::string reason_of(const InputError& error);

}  // namespace ddpsim
