#include "ddpsim/sim/collective.hpp"

#include <string>

namespace ddpsim {
namespace {

/// Lower case, underscores taken out.
std::string plain(std::string_view word) {
  std::string out;
  for (const char c : word) {
    if (c != '_') out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

template <typename Enum>
std::optional<Enum> parse(std::string_view word, int count) {
  const std::string sought = plain(word);
  for (int i = 0; i < count; ++i) {
    const auto value = static_cast<Enum>(i);
    if (plain(name_of(value)) == sought) return value;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Algorithm> parse_algorithm(std::string_view word) {
  return parse<Algorithm>(word, kAlgorithms);
}

std::optional<Protocol> parse_protocol(std::string_view word) {
  return parse<Protocol>(word, kProtocols);
}

std::string_view name_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::tree:
      return "tree";
    case Algorithm::ring:
      break;
    case Algorithm::collnet_direct:
      return "collnetdirect";
    case Algorithm::collnet_chain:
      return "collnetchain";
    case Algorithm::nvls:
      return "nvls";
    case Algorithm::nvls_tree:
      return "nvlstree";
  }
  return "ring";
}

std::string_view name_of(Protocol protocol) {
  switch (protocol) {
    case Protocol::ll:
      return "LL";
    case Protocol::ll128:
      return "LL128";
    case Protocol::simple:
      break;
  }
  return "Simple";
}

}  // namespace ddpsim
