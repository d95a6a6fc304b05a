// The expected change of `diff --cluster`: OLD's recording, simulated with its own settings and with those of NEW.
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
  std::optional<std::string> cluster;      ///< of OLD
  std::optional<std::string> new_cluster;  ///< of NEW; absent: the same
  BackendArguments backend;
  std::optional<std::string> compute_scale;
};

void add_expected_options(CLI::App& command, ExpectedArguments& arguments);

/// Fills the expected changes of the report and says in its warnings what NEW does not tell. Precondition: OLD is a recording, and a
/// cluster is given. Throws UsageError or InputError.
void expect(const ExpectedArguments& arguments, const DiffSide& before, const DiffSide& after,
            DifferenceReport& report);

}  // namespace ddpsim
