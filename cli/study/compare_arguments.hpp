// What is asked of `compare`.
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
  std::optional<StudyBeside>
      study;  ///< --study; its workloads and candidates stand before those that were typed
  std::optional<double> samples;
  std::optional<double> steps;
  std::vector<std::string> until;
  bool no_tune = false;
  int threads = 0;
};

}  // namespace ddpsim
