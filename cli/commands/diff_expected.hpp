// What a model says a change should cost: OLD's recording simulated as it was and under NEW's settings.
#pragma once

#include <optional>
#include <string>

#include "backend_arguments.hpp"
#include "ddpsim/reports/difference_report.hpp"
#include "diff_side.hpp"

namespace CLI {
class App;
}

namespace ddpsim {

struct ExpectedArguments {
  std::optional<std::string> cluster;      ///< of OLD, and of NEW where that has none of its own
  std::optional<std::string> new_cluster;  ///< of NEW
  BackendArguments backend;
  std::optional<std::string> compute_scale;
};

void add_expected_options(CLI::App& command, ExpectedArguments& arguments);

/// Fills `expected` of the report's rows and what it is of; says in the warnings what NEW does not tell. Precondition: OLD is
/// a recording, a cluster is given. Throws UsageError or InputError.
void expect(const ExpectedArguments& arguments, const DiffSide& before, const DiffSide& after,
            DifferenceReport& report);

}  // namespace ddpsim
