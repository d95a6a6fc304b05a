#include "ddpsim/formats/input_error.hpp"

#include "ddpsim/formats/quote.hpp"

namespace ddpsim {

std::string to_string(const Complaint& complaint) {
  const std::string& hint = complaint.hint.text;
  return hint.empty() ? complaint.message : complaint.message + ". " + hint;
}

std::string to_string(const Diagnostic& diagnostic) {
  std::string text = diagnostic.file;
  if (!diagnostic.where.empty()) text += (text.empty() ? "" : ":") + diagnostic.where;
  if (!text.empty()) text += ": ";
  return printable(text + to_string(Complaint{diagnostic.message, diagnostic.hint}));
}

}  // namespace ddpsim
