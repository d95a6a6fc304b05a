// A long run under torchrun: --nnodes MIN:MAX, --elastic KEY=VALUE,… beside --mtbf, --restart and --checkpoint.
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

/// What is asked but for steps; MIN and MAX as typed. Absent without --nnodes. `candidate`: null where there is one, of no label.
/// Throws UsageError.
std::optional<ElasticQuestion> elastic_question(const ElasticArguments& arguments,
                                                const MoneyArguments& failures,
                                                const Candidate* candidate);

/// The run of a loaded job: a step on each number of nodes from MIN to MAX is simulated, that of the job's own being `predicted`.
/// `request` is the job's, `workload` what it was made of. Throws UsageError or InputError.
ElasticAnswer elastic_answer(ElasticQuestion question, const BuiltJob& loaded, Duration predicted,
                             const JobRequest& request, const LoadedWorkload& workload);

}  // namespace ddpsim
