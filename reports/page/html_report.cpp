#include "ddpsim/reports/html_report.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "ddpsim/formats/embedded.hpp"
#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/sim/certainty/confidence.hpp"
#include "ddpsim/sim/step/loss.hpp"
#include "error_source.hpp"
#include "gzip.hpp"
#include "loss_lines.hpp"

namespace ddpsim {

std::span<const EmbeddedFile> embedded_page();

namespace {

/// The name of a document that people read.
void write_words(JsonWriter& json) {
  json.key("words").begin_object();
  json.key("causes").begin_object();
  for (const LossCause cause : all_loss_causes()) json.key(name_of(cause)).string(label_of(cause));
  json.end_object();
  json.key("sources").begin_object();
  for (const ErrorSource source : all_error_sources())
    json.key(name_of(source)).string(phrase_of(source));
  json.end_object();
  json.end_object();
}

/// Escapes a text, so that none of it is markup.
std::string as_text(std::string_view text) {
  std::string result;
  for (const char c : printable_lines(text)) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else
      result += c;
  }
  return result;
}

std::string opening(std::string_view id) {
  return "id=\"" + std::string(id) + "\">";
}

/// Puts `text` into the element with this id. Precondition: `text` has no character that could end the element.
void fill(std::string& page, std::string_view id, std::string_view text) {
  const std::string before = opening(id);
  const std::size_t begin = page.find(before) + before.size();
  page.replace(begin, page.find('<', begin) - begin, text);
}

void fill_report(std::string& page, const HtmlReport& report) {
  fill(page, "plain", as_text(report.text));
  fill(page, "documents", base64(gzip(report_json(report))));
}

}  // namespace

std::string report_json(const HtmlReport& report) {
  JsonWriter json;
  json.begin_object();
  json.key("schema").string("ddpsim.report/1");
  json.key("program").string(report.program);
  json.key("command").string(report.command);
  json.key("verdict").string(report.verdict);
  json.key("text").string(report.text);
  write_words(json);
  json.key("documents").begin_object();
  for (const ReportDocument& document : report.documents) {
    std::string_view text = document.json;
    while (text.ends_with('\n')) text.remove_suffix(1);
    json.key(document.name).value(text);
  }
  json.end_object();
  json.end_object();
  return std::move(json).finish();
}

std::string html_report(const HtmlReport& report) {
  std::string page(embedded_page().front().text);
  fill_report(page, report);
  return page;
}

bool is_interactive_page(std::string_view html) {
  return std::ranges::all_of(std::array{"plain", "documents", "engine-program", "inputs"},
                             [&](const char* id) { return html.find(opening(id)) != html.npos; });
}

std::string interactive_report(const HtmlReport& report, InteractivePage page) {
  fill_report(page.html, report);
  fill(page.html, "inputs", base64(gzip(page.inputs)));
  return std::move(page.html);
}

}  // namespace ddpsim
