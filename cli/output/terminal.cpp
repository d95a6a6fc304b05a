#include "terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <utility>

#include "ddpsim/formats/files.hpp"
#include "help_group.hpp"
#include "printing.hpp"
#include "repeatable.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kPageLines = 25;

/// Refuses a name with the ending of another format, because nobody could open that file.
std::string names_a_file_of(const std::string& name, std::string_view expected,
                            std::string_view what) {
  const std::string ending = std::filesystem::path(name).extension().string();
  if (ending.empty() || ending == expected) return names_a_file(name);
  return fmt::format("\"{}\" is not the name of {}; expected FILE{}", name, what, expected);
}
std::string names_a_figure(const std::string& name) {
  return names_a_file_of(name, ".svg", "an SVG figure");
}
std::string names_a_page(const std::string& name) {
  if (name.ends_with(".json")) return names_a_file(name);
  return names_a_file_of(name, ".html", "an HTML page");
}

}  // namespace

std::string names_a_file(const std::string& name) {
  return name.empty() ? "the name of the file is empty" : "";
}

void add_json_option(CLI::App& command, bool& json) {
  const HelpGroup group(command, kOutputGroup);
  common(command.add_flag("--json", json, "Print one JSON document on stdout and nothing else"));
}

void add_form_options(CLI::App& command, OutputArguments& arguments) {
  const HelpGroup group(command, kOutputGroup);
  add_json_option(command, arguments.json);
  command.add_option("--text", arguments.text, "Also write what the terminal shows to this file")
      ->type_name("FILE")
      ->check(names_a_file);
}

void add_output_options(CLI::App& command, OutputArguments& arguments, bool with_timeline) {
  const HelpGroup group(command, kOutputGroup);
  add_form_options(command, arguments);
  common(command.add_option("--csv", arguments.csv, "Write a table to this file"))
      ->type_name("FILE")
      ->check(names_a_file);
  if (with_timeline)
    common(command.add_option(
               "--timeline", arguments.timeline,
               "Write a timeline to open at ui.perfetto.dev, or FILE.json as ddpsim.timeline/1"))
        ->type_name("FILE")
        ->check(names_a_file);
}

void add_plot_cost_option(CLI::App& command, OutputArguments& arguments) {
  const HelpGroup group(command, kOutputGroup);
  command
      .add_option("--plot-cost", arguments.plot_cost,
                  "Plot cost against time into this file, FILE.svg")
      ->type_name("FILE")
      ->check(names_a_figure);
}

CLI::Option* add_plot_option(CLI::App& command, OutputArguments& arguments) {
  const HelpGroup group(command, kOutputGroup);
  return common(command.add_option("--plot", arguments.plot, "Plot into this file, FILE.svg"))
      ->type_name("FILE")
      ->check(names_a_figure);
}

void add_report_option(CLI::App& command, OutputArguments& arguments) {
  const HelpGroup group(command, kOutputGroup);
  repeatable(common(command.add_option("--report", arguments.reports,
                                       "Write a report: FILE.html, or its data FILE.json")))
      ->type_name("FILE")
      ->check(names_a_page);
}

void add_interactive_option(CLI::App& command, OutputArguments& arguments) {
  const HelpGroup group(command, kOutputGroup);
  command.add_flag(
      "--interactive", arguments.interactive,
      "With --report FILE.html, put the simulator into the page, to go on from this answer");
}

void add_length_options(CLI::App& command, OutputArguments& arguments) {
  const HelpGroup group(command, kOutputGroup);
  CLI::Option* quiet =
      command.add_flag("--quiet", arguments.quiet, "Print only the verdict, in one line");
  common(command.add_flag("--verbose", arguments.verbose,
                          fmt::format("Print all details, not only {} lines", kPageLines)))
      ->excludes(quiet);
}

void add_threads_option(CLI::App& command, int& threads) {
  const HelpGroup group(command, kOutputGroup);
  command
      .add_option("--threads", threads,
                  "Use this many threads, without effect on results (default: all)")
      ->check(CLI::Range(1, 1024));
}

namespace {

/// Returns the first line without wrapping, and without the "# " of tables that programs may read.
std::string verdict(const Answer& answer) {
  constexpr int kUnwrapped = 2000;
  std::string line = answer.text({.width = kUnwrapped});
  line.resize(std::min(line.size(), line.find('\n')));
  return line.starts_with("# ") ? line.substr(2) : line;
}

/// Writes the reports and names them.
std::string write_reports(const Answer& answer, const std::vector<std::string>& files) {
  if (files.empty()) return "";
  const HtmlReport report = {.program = "ddpsim " DDPSIM_VERSION,
                             .command = answer.command,
                             .verdict = verdict(answer),
                             .text = answer.text({}),
                             .documents = answer.documents()};
  std::string written;
  for (const std::string& file : files) {
    const bool page = !file.ends_with(".json");
    write_file(file, !page         ? report_json(report)
                     : answer.page ? interactive_report(report, *answer.page)
                                   : html_report(report));
    written += "Wrote " + file + (page ? ": open it in a browser\n" : "\n");
  }
  return written;
}

/// Returns the text for a terminal of this style.
std::string text_of(const Answer& answer, const OutputArguments& arguments, TerminalStyle style) {
  style.most_lines = arguments.verbose ? 0 : kPageLines;
  std::string text = answer.text(style);
  if (arguments.quiet) text.resize(text.find('\n') + 1);
  return text;
}

}  // namespace

std::vector<NamedOutput> named_outputs(const OutputArguments& arguments) {
  std::vector<NamedOutput> outputs;
  const std::pair<const char*, const std::optional<std::string>*> files[] = {
      {"--export", &arguments.plan}, {"--timeline", &arguments.timeline},
      {"--csv", &arguments.csv},     {"--plot", &arguments.plot},
      {"--text", &arguments.text},   {"--plot-cost", &arguments.plot_cost}};
  for (const auto& [option, file] : files)
    if (*file) outputs.push_back({option, **file});
  for (const std::string& file : arguments.reports) outputs.push_back({"--report", file});
  return outputs;
}

void deliver(const Answer& answer, const OutputArguments& arguments) {
  require_own_outputs(named_outputs(arguments));
  std::string written;
  if (arguments.plan) {
    write_file(*arguments.plan, answer.plan(*arguments.plan));
    written += "Wrote " + *arguments.plan + "\n";
  }
  if (arguments.timeline) {
    const std::string& file = *arguments.timeline;
    write_file(file, answer.timeline(file));
    written += "Wrote " + file +
               (file.ends_with(".json") ? "\n" : ": open it at https://ui.perfetto.dev\n");
  }
  if (arguments.csv) {
    write_file(*arguments.csv, answer.csv());
    written += "Wrote " + *arguments.csv + "\n";
  }
  if (arguments.plot) {
    write_file(*arguments.plot, answer.plot());
    written += "Wrote " + *arguments.plot + ": open it in a browser\n";
  }
  written += write_reports(answer, arguments.reports);
  if (arguments.plot_cost) {
    write_file(*arguments.plot_cost, answer.plot_cost());
    written += "Wrote " + *arguments.plot_cost + ": open it in a browser\n";
  }
  if (arguments.text) {
    write_file(*arguments.text, text_of(answer, arguments, {}));
    written += "Wrote " + *arguments.text + "\n";
  }
  if (arguments.json)
    print(answer.json());
  else
    print(text_of(answer, arguments, terminal_style()) + (arguments.quiet ? "" : written));
}

TerminalStyle terminal_style() {
  TerminalStyle style;
  if (isatty(STDOUT_FILENO) == 0) return style;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    style.width = std::clamp<int>(size.ws_col, 60, 160);
  style.colour = output_takes_styles();
  return style;
}

}  // namespace ddpsim
