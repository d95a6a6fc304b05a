// How the terminal takes it, and where results go: data on stdout, everything else on stderr.
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
  bool quiet = false;    ///< the first line alone
  bool verbose = false;  ///< all there is to say, not only what fits a page
  std::optional<std::string> text;
  std::optional<std::string> csv;
  std::optional<std::string> timeline;
  std::optional<std::string> plot;
  std::optional<std::string> plot_cost;  ///< of `compare`
  std::vector<std::string> reports;
  bool interactive = false;  ///< of `simulate` and `tune`: the report has the simulator inside
  std::optional<std::string> plan;  ///< of `advise`: --export
};

/// Of options that name a file to write: why CLI11 should refuse it, empty where it should not.
std::string names_a_file(const std::string& name);
/// --json, of commands that print a document anyway, or write one.
void add_json_option(CLI::App& command, bool& json);
/// --json and --text: of commands whose answer is a document and a text.
void add_form_options(CLI::App& command, OutputArguments& arguments);
void add_output_options(CLI::App& command, OutputArguments& arguments, bool with_timeline);
/// --plot: of commands whose answer is a curve.
CLI::Option* add_plot_option(CLI::App& command, OutputArguments& arguments);
/// --report: of commands whose documents the page draws.
void add_report_option(CLI::App& command, OutputArguments& arguments);
/// --interactive: of commands that the page with the simulator inside asks.
void add_interactive_option(CLI::App& command, OutputArguments& arguments);
/// --plot-cost: of commands that count what something costs.
void add_plot_cost_option(CLI::App& command, OutputArguments& arguments);
/// --quiet, --verbose: of commands whose first line is the verdict.
void add_length_options(CLI::App& command, OutputArguments& arguments);
/// --threads, of every command that simulates independent points.
void add_threads_option(CLI::App& command, int& threads);

/// What a command has to say, in each of its forms; only what was asked for is made.
struct Answer {
  std::function<std::string()> json;
  std::function<std::string(const TerminalStyle&)> text;
  std::function<std::string()> csv = {};
  std::function<std::string()> plot = {};       ///< SVG
  std::function<std::string()> plot_cost = {};  ///< SVG
  /// Of the file with that name: FILE.json is ddpsim.timeline/1, any other Perfetto's.
  std::function<std::string(const std::string& file)> timeline = {};
  /// As a module of Python or, FILE.csv, for NCCL's tuner plugin.
  std::function<std::string(const std::string& file)> plan = {};
  std::string command = {};  ///< that gives the same answer again; a report names it
  /// What a report draws.
  std::function<std::vector<ReportDocument>()> documents = {};
  /// Of --interactive: what the report goes on from; else empty.
  std::optional<InteractivePage> page = {};
};
/// The files it names, for `require_own_outputs`.
std::vector<NamedOutput> named_outputs(const OutputArguments& arguments);

/// Files first, so that no answer speaks of one that could not be written; a text names them.
void deliver(const Answer& answer, const OutputArguments& arguments);

/// Width and colour of standard output; NO_COLOR and pipes give plain text.
TerminalStyle terminal_style();

}  // namespace ddpsim
