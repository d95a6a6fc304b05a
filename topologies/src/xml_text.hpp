// The text of a topology in XML: its root, its numbers, and places for messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <pugixml.hpp>
#include <string>
#include <string_view>

#include "ddpsim/formats/hint.hpp"

namespace ddpsim {

class XmlText {
 public:
  XmlText(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  /// Parses the text into `document` and returns <system>.
  pugi::xml_node load(pugi::xml_document& document) const;
  /// A whole number, or `otherwise` if it is absent.
  std::int64_t number(const pugi::xml_node& node, const char* name, std::int64_t otherwise,
                      std::int64_t high) const;

  [[noreturn]] void fail(std::string where, std::string message, Hint hint = {}) const;
  [[noreturn]] void fail_at(const pugi::xml_node& node, std::string message, Hint hint = {}) const;
  const std::string& file() const { return file_; }

 private:
  std::string line_of(std::ptrdiff_t offset) const;

  std::string_view text_;
  const std::string& file_;
};

}  // namespace ddpsim
