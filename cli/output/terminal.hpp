// Output of commands: which options it has, and where it goes. Data goes to stdout, everything else to stderr.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ddpsim/reports/html_report.hpp"
#include "ddpsim/reports/reports.hpp"
#include "own_outputs.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace ddpsim {

struct OutputArguments {
  bool json = false;
  bool quiet = false;    ///< only the first line
  bool verbose = false;  ///< without a limit on lines
  std::optional<std::string> text;
  std::optional<std::string> csv;
  std::optional<std::string> timeline;
  std::optional<std::string> plot;
  std::optional<std::string> plot_cost;  ///< only in `compare`
  std::vector<std::string> reports;
  /// Whether the report contains the simulator; only in `simulate` and `tune`.
  bool interactive = false;
  std::optional<std::string> plan;  ///< --export of `advise`
};

/// Checks the name of a file to write. Returns why CLI11 should refuse it, or nothing.
std::string names_a_file(const std::string& name);
/// Adds --json, in commands that always print or write a document.
void add_json_option(CLI::App& command, bool& json);
/// Adds --json and --text.
void add_form_options(CLI::App& command, OutputArguments& arguments);
/// Adds --json, --text, --csv and, if asked, --timeline.
void add_output_options(CLI::App& command, OutputArguments& arguments, bool with_timeline);
/// Adds --plot, in commands whose answer is a curve.
CLI::Option* add_plot_option(CLI::App& command, OutputArguments& arguments);
/// Adds --report, in commands whose documents the page can draw.
void add_report_option(CLI::App& command, OutputArguments& arguments);
/// Adds --interactive, in commands that the page with the simulator can run.
void add_interactive_option(CLI::App& command, OutputArguments& arguments);
/// Adds --plot-cost, in commands that count costs.
void add_plot_cost_option(CLI::App& command, OutputArguments& arguments);
/// Adds --quiet and --verbose, in commands whose first line is the verdict.
void add_length_options(CLI::App& command, OutputArguments& arguments);
/// Adds --threads, in commands that simulate independent points.
void add_threads_option(CLI::App& command, int& threads);

/// The answer of a command in each form. Only the requested forms are made.
struct Answer {
  std::function<std::string()> json;
  std::function<std::string(const TerminalStyle&)> text;
  std::function<std::string()> csv = {};
  std::function<std::string()> plot = {};       ///< SVG
  std::function<std::string()> plot_cost = {};  ///< SVG
  /// Returns the content of this file: ddpsim.timeline/1 for FILE.json, otherwise a Perfetto trace.
  std::function<std::string(const std::string& file)> timeline = {};
  /// Returns the content of this file: a table for NCCL's tuner plugin for FILE.csv, otherwise a Python module.
  std::function<std::string(const std::string& file)> plan = {};
  /// The command that gives the same answer again; the report shows it.
  std::string command = {};
  /// The documents that a report draws.
  std::function<std::vector<ReportDocument>()> documents = {};
  /// With --interactive, the page with the simulator.
  std::optional<InteractivePage> page = {};
};
/// Returns the files that these arguments name. `require_own_outputs` checks that they differ from
/// each other and from every input.
std::vector<NamedOutput> named_outputs(const OutputArguments& arguments);

/// Writes the files, then prints the answer. The text names the files, so they must exist first.
void deliver(const Answer& answer, const OutputArguments& arguments);

/// Returns width and colour of standard output. With NO_COLOR or in a pipe, text has no colour.
TerminalStyle terminal_style();

}  // namespace ddpsim
