// --nnodes MIN:MAX and --elastic KEY=VALUE,…: a long run under torchrun. It also needs --mtbf, --restart and --checkpoint.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/sim/compare/money.hpp"
#include "ddpsim/sim/elastic/elastic.hpp"

namespace CLI {
class App;
}

namespace ddpsim {

struct MoneyArguments;
struct Candidate;
struct BuiltJob;
struct JobRequest;
struct LoadedWorkload;

struct ElasticArguments {
  std::optional<std::string> nnodes;
  std::optional<std::string> elastic;
};

void add_elastic_options(CLI::App& command, ElasticArguments& arguments);

/// Returns the question without step times, or nothing without --nnodes. `candidate` is null if there is only one, which has no
/// label. Throws UsageError.
std::optional<ElasticQuestion> elastic_question(const ElasticArguments& arguments,
                                                const MoneyArguments& failures,
                                                const Candidate* candidate);

/// Simulates the run of a loaded job. It simulates a step for each number of nodes from MIN to MAX, except the job's own, whose step
/// is `predicted`. `request` and `workload` are those of the job. Throws UsageError or InputError.
ElasticAnswer elastic_answer(ElasticQuestion question, const BuiltJob& loaded, Duration predicted,
                             const JobRequest& request, const LoadedWorkload& workload);

}  // namespace ddpsim
