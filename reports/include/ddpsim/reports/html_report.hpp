// --report: one HTML file that draws an answer's own JSON documents, asks nothing of the network and runs no script but its
// own (docs/reference/formats.md, Report). What is drawn is decided in reports/page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ddpsim {

struct MeasuredAllReduces;

struct ReportDocument {
  std::string name;  ///< what it is to the page: "result", "timeline", "tune", …
  std::string json;  ///< as --json prints it
};

struct HtmlReport {
  std::string program;  ///< "ddpsim 0.1.0"
  std::string command;  ///< that gives the same answer again
  std::string verdict;  ///< one line
  std::string text;     ///< in full, as on a terminal
  std::vector<ReportDocument> documents;
};

/// The points of a log, beside those of ddpsim.allreduce/1.
std::string measured_all_reduces_json(const MeasuredAllReduces& measured);

/// What a report draws: ddpsim.report/1.
std::string report_json(const HtmlReport& report);

/// Documents, compressed, in the page that reads them. Browsers without scripts, and those that cannot decompress, show
/// `text`.
std::string html_report(const HtmlReport& report);

/// ddpsim.html, which preset wasm builds, and what its controls start from.
struct InteractivePage {
  std::string html;
  std::string inputs;  ///< ddpsim.inputs/1
};
/// Whether this is such a page.
bool is_interactive_page(std::string_view html);
/// The same report in it. Expects such a page.
std::string interactive_report(const HtmlReport& report, InteractivePage page);

}  // namespace ddpsim
