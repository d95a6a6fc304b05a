#include "ddpsim/reports/html_report.hpp"

#include <string_view>

#include "ddpsim/formats/embedded.hpp"
#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/sim/confidence.hpp"
#include "ddpsim/sim/loss.hpp"
#include "error_source.hpp"
#include "gzip.hpp"
#include "loss_lines.hpp"

namespace ddpsim {

std::span<const EmbeddedFile> embedded_page();

namespace {

/// What a name of a document is called where people read it.
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

std::string envelope(const HtmlReport& report) {
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

/// Nothing of it is markup.
std::string as_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c != '\0')
      result += c;
  }
  return result;
}

/// The page with what belongs in its two places; neither is searched in what was put into the other.
std::string filled(std::string_view page, std::string_view text, std::string_view documents) {
  constexpr std::string_view kText = "@@text@@";
  constexpr std::string_view kDocuments = "@@documents@@";
  const std::size_t first = page.find(kText);
  const std::size_t second = page.find(kDocuments);
  std::string result(page.substr(0, first));
  result += text;
  result += page.substr(first + kText.size(), second - first - kText.size());
  result += documents;
  result += page.substr(second + kDocuments.size());
  return result;
}

}  // namespace

std::string html_report(const HtmlReport& report) {
  return filled(embedded_page().front().text, as_text(report.text), base64(gzip(envelope(report))));
}

}  // namespace ddpsim
