#include "ddpsim/formats/described.hpp"
#include "ddpsim/reports/error_report.hpp"
#include "described_documents.hpp"

namespace ddpsim {
namespace {

const Described<ErrorReport>& described_error() {
  static const auto described =
      Described<ErrorReport>("ErrorDocument", "why a command has no answer",
                             JsonWriter::Layout::line)
          .constant("schema", "ddpsim.error/1", "which document this is")
          .integer("code", &ErrorReport::exit_code,
                   "the exit code. 1: the program or the machine failed; 2: the command line is "
                   "wrong; 3: a file or a description is wrong")
          .text(
              "file", unless_empty([](const ErrorReport& report) -> const std::string& {
                return report.diagnostic.file;
              }),
              "the file as given; \"command line\" if the error is there; null if no file is meant")
          .text("where", unless_empty([](const ErrorReport& report) -> const std::string& {
                  return report.diagnostic.where;
                }),
                "the place in the file (\"/backward/ready/3/at_us\", \"line 7\"), or the option")
          .text(
              "message", [](const ErrorReport& report) { return report.diagnostic.message; },
              "what is wrong")
          .text("hint", unless_empty([](const ErrorReport& report) -> const std::string& {
                  return report.diagnostic.hint.text;
                }),
                "what would be right")
          .texts(
              "did_you_mean",
              [](const ErrorReport& report) -> const std::vector<std::string>& {
                return report.diagnostic.hint.meant;
              },
              "known words that an unknown word was probably meant to be", Absent::null,
              JsonWriter::Layout::line);
  return described;
}

}  // namespace

const ObjectType& error_document() {
  return described_error().type();
}

std::string error_json(const ErrorReport& report) {
  return described_error().text_of(report);
}

}  // namespace ddpsim
