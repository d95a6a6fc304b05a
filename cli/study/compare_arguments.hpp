// Arguments of `compare`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "candidate_arguments.hpp"
#include "elastic_arguments.hpp"
#include "money_arguments.hpp"
#include "study.hpp"
#include "terminal.hpp"

namespace ddpsim {

struct CompareArguments : CandidateArguments {
  OutputArguments output;
  MoneyArguments money;
  ElasticArguments elastic;
  std::vector<std::string> workloads;  ///< --workload
  std::vector<std::string> clusters;
  /// --study; its workloads and candidates come before the typed ones.
  std::optional<StudyBeside> study;
  std::optional<double> samples;
  std::optional<double> steps;
  std::vector<std::string> until;
  bool no_tune = false;
  int threads = 0;
};

}  // namespace ddpsim
