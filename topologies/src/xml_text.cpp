#include "xml_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"

namespace ddpsim {

pugi::xml_node XmlText::load(pugi::xml_document& document) const {
  const auto result = document.load_buffer(
      text_.data(), text_.size(), pugi::parse_default | pugi::parse_doctype, pugi::encoding_utf8);
  if (!result) {
    fail(line_of(result.offset), fmt::format("not well-formed XML: {}", result.description()),
         "Was the file cut off?");
  }
  for (const pugi::xml_node& node : document.children()) {
    if (node.type() == pugi::node_doctype) {
      fail(line_of(node.offset_debug()), "a document type is declared",
           "NCCL's topology files have none");
    }
  }
  const pugi::xml_node system = document.document_element();
  if (std::string_view(system.name()) != "system") {
    const bool graphs = std::string_view(system.name()) == "graphs";
    fail(line_of(system.offset_debug()),
         fmt::format("<{}> is not NCCL's topology; expected <system>", legible(system.name())),
         graphs ? "That is NCCL_GRAPH_DUMP_FILE; take NCCL_TOPO_DUMP_FILE"
                : "Write one with NCCL_TOPO_DUMP_FILE=topo.xml");
  }
  return system;
}

void XmlText::fail(std::string where, std::string message, Hint hint) const {
  throw InputError({file_, std::move(where), std::move(message), std::move(hint)});
}

void XmlText::fail_at(const pugi::xml_node& node, std::string message, Hint hint) const {
  fail(line_of(node.offset_debug()), std::move(message), std::move(hint));
}

std::string XmlText::line_of(std::ptrdiff_t offset) const {
  const auto end = text_.begin() +
                   std::clamp<std::ptrdiff_t>(offset, 0, static_cast<std::ptrdiff_t>(text_.size()));
  return fmt::format("line {}", 1 + std::count(text_.begin(), end, '\n'));
}

std::int64_t XmlText::number(const pugi::xml_node& node, const char* name, std::int64_t otherwise,
                             std::int64_t high) const {
  const std::string_view written = node.attribute(name).value();
  if (written.empty()) return otherwise;
  std::string_view rest = written;
  const auto value = take_number<std::int64_t>(rest);
  const bool whole =
      rest.empty() || (rest.size() > 1 && rest.front() == '.' &&
                       rest.find_first_not_of('0', 1) == std::string_view::npos);  // "0.000000"
  if (!value || !whole || *value < 0 || *value > high) {
    fail_at(node,
            fmt::format("{}={} is not a number from 0 to {}", name, in_quotes(written), high));
  }
  return *value;
}

}  // namespace ddpsim
