#include "chakra.hpp"

#include <cstdint>
#include <optional>

#include "trace_names.hpp"

namespace ddpsim {
namespace {

/// Reads the part of the wire format that is needed: varints and length-delimited fields.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }
  /// The bytes of the next field, which must have `tag` and be a text or message.
  std::optional<std::string_view> delimited(unsigned char tag) {
    if (rest_.empty() || static_cast<unsigned char>(rest_.front()) != tag) return std::nullopt;
    rest_.remove_prefix(1);
    return message();
  }
  std::optional<std::string_view> message() {
    const auto length = varint();
    if (!length || *length > rest_.size()) return std::nullopt;
    const std::string_view bytes = rest_.substr(0, static_cast<std::size_t>(*length));
    rest_.remove_prefix(bytes.size());
    return bytes;
  }
  bool skip_varint_field(unsigned char tag) {
    if (rest_.empty() || static_cast<unsigned char>(rest_.front()) != tag) return false;
    rest_.remove_prefix(1);
    return varint().has_value();
  }

 private:
  std::string_view rest_;
};

constexpr unsigned char kVersion = 0x0a;  // GlobalMetadata: field 1, text
constexpr unsigned char kId = 0x08;       // Node: field 1, number; left out if 0
constexpr unsigned char kName = 0x12;     // Node: field 2, text

bool is_version(std::string_view text) {
  // "0.0.4", or as the observer writes it: "1.1.1-chakra.0.0.4".
  return !text.empty() && text.front() >= '0' && text.front() <= '9' &&
         text.find_first_not_of("0123456789.-chakr") == std::string_view::npos;
}

bool is_name(std::string_view text) {
  if (text.empty()) return false;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) return false;
  }
  return true;
}

bool is_node(std::string_view bytes) {
  WireReader node(bytes);
  node.skip_varint_field(kId);
  const auto name = node.delimited(kName);
  return name && is_name(*name);
}

/// GlobalMetadata without a version: field 2 holds attributes, each with its name in field 1.
bool is_attributes(std::string_view bytes) {
  WireReader metadata(bytes);
  const auto attribute = metadata.delimited(kName);
  if (!attribute) return false;
  const auto name = WireReader(*attribute).delimited(kVersion);
  return name && is_name(*name);
}

}  // namespace

const char* const kInsteadOfChakra =
    "It holds no kernel launches, so when each gradient was ready cannot be told. Import the "
    "profiler's trace of the same steps (prof.export_chrome_trace; of a linked trace, the Kineto "
    "file given to chakra_trace_link)";

bool is_chakra_protobuf(std::string_view head) {
  WireReader stream(head);
  const auto first = stream.message();
  if (!first) return false;
  const auto version = WireReader(*first).delimited(kVersion);
  const auto second = stream.message();
  if (version && is_version(*version))
    return !second || is_node(*second);  // the head or the file ends here
  if (is_node(*first)) return true;      // older: no metadata in front
  // Older metadata hold something else, or nothing.
  return (first->empty() || is_attributes(*first)) && second && is_node(*second);
}

std::string chakra_json_form(std::string_view head) {
  if (contains(head, "\"COMP_NODE\"") || contains(head, "\"COMM_COLL_NODE\"") ||
      contains(head, "\"METADATA_NODE\"")) {
    return "a Chakra execution trace as JSON";
  }
  if (!contains(head, "\"nodes\"")) return "";
  if (contains(head, "\"inclusive_dur\"") || contains(head, "\"exclusive_dur\"")) {
    return "a linked Chakra execution trace (host and device)";
  }
  if (contains(head, "\"ctrl_deps\"") || contains(head, "\"rf_id\"") ||
      contains(head, "\"schema\"")) {
    return "a Chakra execution trace of the host (PyTorch's ExecutionTraceObserver): operators "
           "without times";
  }
  return "";
}

}  // namespace ddpsim
