#include "ddpsim/sim/values/collective.hpp"

#include <string>

namespace ddpsim {
namespace {

/// Converts to lower case and removes underscores.
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

std::string_view name_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      break;
    case CollectiveKind::broadcast:
      return "broadcast";
    case CollectiveKind::reduce_scatter:
      return "reduce-scatter";
    case CollectiveKind::all_gather:
      return "all-gather";
    case CollectiveKind::reduce:
      return "reduce";
    case CollectiveKind::send_recv:
      return "send-recv";
  }
  return "all-reduce";
}

int ring_phases(CollectiveKind kind) {
  if (kind == CollectiveKind::all_reduce) return 2;
  return kind == CollectiveKind::reduce_scatter || kind == CollectiveKind::all_gather ? 1 : 0;
}

int ring_steps(CollectiveKind kind, int ranks) {
  const int phases = ring_phases(kind);
  return phases > 0 ? phases * (ranks - 1) : ranks;
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
