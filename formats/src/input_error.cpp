#include "ddpsim/formats/input_error.hpp"

#include "ddpsim/formats/quote.hpp"

namespace ddpsim {

std::string to_string(const Diagnostic& diagnostic) {
  std::string text = diagnostic.file;
  if (!diagnostic.where.empty()) text += (text.empty() ? "" : ":") + diagnostic.where;
  if (!text.empty()) text += ": ";
  text += diagnostic.message;
  if (!diagnostic.hint.empty()) text += ". " + diagnostic.hint;
  return printable(text);
}

}  // namespace ddpsim
