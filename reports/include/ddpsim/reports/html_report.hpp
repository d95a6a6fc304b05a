// --report: one HTML file that draws an answer's JSON documents. It needs no network and runs only
// its own script (docs/reference/formats.md, Report). reports/page decides what is drawn.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ddpsim {

struct MeasuredAllReduces;

struct ReportDocument {
  /// The page's name for it: "result", "timeline", "tune", …
  std::string name;
  std::string json;  ///< as --json prints it
};

struct HtmlReport {
  std::string program;  ///< "ddpsim 0.1.0"
  std::string command;  ///< repeats the answer
  std::string verdict;  ///< one line
  std::string text;     ///< all text of the answer
  std::vector<ReportDocument> documents;
};

/// The measured points of a log, which are drawn next to those of ddpsim.allreduce/1.
std::string measured_all_reduces_json(const MeasuredAllReduces& measured);

/// The data that a report draws: ddpsim.report/1.
std::string report_json(const HtmlReport& report);

/// The page with the compressed documents. A browser that runs no scripts or cannot decompress
/// shows `text`.
std::string html_report(const HtmlReport& report);

/// The interactive page ddpsim.html (built by preset wasm), and the initial values of its controls.
struct InteractivePage {
  std::string html;
  std::string inputs;  ///< ddpsim.inputs/1
};
/// Whether `html` is an interactive page.
bool is_interactive_page(std::string_view html);
/// The report inside an interactive page. Precondition: is_interactive_page(page.html).
std::string interactive_report(const HtmlReport& report, InteractivePage page);

}  // namespace ddpsim
