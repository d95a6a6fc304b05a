#include "ddpsim/diagnose/evidence/ddp_facts.hpp"

#include <algorithm>
#include <array>

#include "evidence_words.hpp"

namespace ddpsim {
namespace {

/// Keys of logger.cpp. "iteration", "world_size" and "nccl_version" are common words, so they count
/// only after another of these keys.
constexpr std::array<std::string_view, 24> kDdpKeys = {"bucket_cap_bytes",
                                                       "find_unused_parameters",
                                                       "gradient_as_bucket_view",
                                                       "total_parameter_size_bytes",
                                                       "num_parameter_tensors",
                                                       "unused_parameter_size",
                                                       "has_rebuilt_buckets",
                                                       "rebuilt_bucket_sizes",
                                                       "bucket_sizes",
                                                       "can_set_static_graph",
                                                       "has_sync_bn",
                                                       "comm_hook",
                                                       "broadcast_buffers",
                                                       "static_graph",
                                                       "num_buckets_reduced",
                                                       "torch_distributed_debug",
                                                       "nccl_blocking_wait",
                                                       "nccl_version",
                                                       "nccl_socket_ifname",
                                                       "backend_name",
                                                       "module_name",
                                                       "dtypes",
                                                       "iteration",
                                                       "world_size"};

bool is_everybodys(std::string_view key) {
  return key == "iteration" || key == "world_size" || key == "nccl_version";
}

/// The value in a text that begins after the key: `": 1,`, `': 'N/A',`, `: 26214400`.
std::optional<std::string_view> value_behind(std::string_view text, bool whole_line) {
  if (text.starts_with('"') || text.starts_with('\'')) text.remove_prefix(1);
  text = trimmed(text);
  if (!text.starts_with(':')) return std::nullopt;
  text = trimmed(text.substr(1));
  if (text.starts_with('"') || text.starts_with('\''))
    return up_to(text.substr(1), text.substr(0, 1));
  if (whole_line) {
    while (text.ends_with(',') || text.ends_with('}'))
      text = trimmed(text.substr(0, text.size() - 1));
    return text;
  }
  return trimmed(up_to(text, ",}"));
}

void keep_value(std::string_view key, std::string_view value, const std::string& place,
                DdpFacts& facts) {
  if (value.empty() || value == "N/A" || value.size() > 100'000) return;
  if (value == "True" || value == "true") value = "1";
  if (value == "False" || value == "false") value = "0";
  const auto [at, first] =
      facts.values.try_emplace(std::string(key), DdpFacts::Value{std::string(value), place});
  // Over ranks and iterations, the most informative value is kept: one parameter unused anywhere is
  // unused.
  if (first || (key != "iteration" && key != "unused_parameter_size")) return;
  const auto was = parse_number<std::int64_t>(at->second.text);
  const auto is = parse_number<std::int64_t>(value);
  if (is && (!was || *is > *was)) at->second = {std::string(value), place};
}

/// Length of the first entry, up to the comma before the next quoted key. Commas inside lists do
/// not precede a key.
std::size_t length_of_entry(std::string_view entries) {
  for (std::size_t at = entries.find(','); at != std::string_view::npos;
       at = entries.find(',', at + 1)) {
    std::string_view behind = trimmed(entries.substr(at + 1));
    const std::string_view quote = behind.substr(0, 1);
    if (quote != "\"" && quote != "'") continue;
    behind.remove_prefix(1);
    const std::size_t end = behind.find(quote);
    if (end != std::string_view::npos && trimmed(behind.substr(end + 1)).starts_with(':'))
      return at + 1;
  }
  return entries.size();
}

/// The key of `"world_size": 8,` or `world_size : 8`. Absent if it is not one of DDP's keys.
std::optional<std::string_view> ddp_key(std::string_view entry) {
  if (entry.starts_with('"') || entry.starts_with('\'')) entry.remove_prefix(1);
  const std::string_view name = up_to(entry, "\"': ");
  if (std::ranges::find(kDdpKeys, name) == kDdpKeys.end()) return std::nullopt;
  return name;
}

/// Takes one entry or several. A trainer's record uses the common words too, so in a line that
/// opens a record they count only after one of DDP's own keys.
bool take_entries(std::string_view line, const std::string& place, DdpFacts& facts) {
  std::string_view rest = trimmed(line);
  bool counts = !rest.starts_with('{') && !facts.values.empty();
  if (rest.starts_with('{')) rest = trimmed(rest.substr(1));
  const bool is_quoted = rest.starts_with('"') || rest.starts_with('\'');
  bool taken = false;
  while (!rest.empty()) {
    const std::size_t length = is_quoted ? length_of_entry(rest) : rest.size();
    const std::string_view entry = trimmed(rest.substr(0, length));
    rest = trimmed(rest.substr(length));
    const auto name = ddp_key(entry);
    if (!name) continue;
    counts = counts || !is_everybodys(*name);
    const std::size_t behind = entry.find(*name) + name->size();
    const auto value = value_behind(entry.substr(behind), true);
    if (!counts || !value) continue;
    keep_value(*name, *value, place, facts);
    taken = true;
  }
  return taken;
}

}  // namespace

std::optional<std::int64_t> DdpFacts::integer(std::string_view key) const {
  const Value* value = find(key);
  return value ? parse_number<std::int64_t>(value->text) : std::nullopt;
}

const DdpFacts::Value* DdpFacts::find(std::string_view key) const {
  const auto at = values.find(key);
  return at == values.end() ? nullptr : &at->second;
}

std::vector<std::int64_t> DdpFacts::bucket_sizes() const {
  const Value* sizes = find("rebuilt_bucket_sizes");
  if (!sizes) sizes = find("bucket_sizes");
  std::vector<std::int64_t> bytes;
  if (!sizes) return bytes;
  for (const std::string_view cell : cells_of(sizes->text)) {
    const auto size = parse_number<std::int64_t>(cell);
    if (!size || *size < 0) return {};
    bytes.push_back(*size);
  }
  return bytes;
}

bool take_ddp_line(std::string_view line, const std::string& place, DdpFacts& facts) {
  const auto says = [&](std::string_view words) {
    return line.find(words) != std::string_view::npos;
  };
  if (says("find_unused_parameters=True was specified in DDP constructor, but did not find any "
           "unused parameters")) {
    if (!facts.no_unused_parameters) facts.no_unused_parameters = place;
    return true;
  }
  if (says("Grad strides do not match bucket view strides")) {
    if (!facts.strides_differ) facts.strides_differ = place;
    return true;
  }
  if (const auto unused = after_mark(line, " unused_parameter_size=");
      unused && says("Training ")) {
    keep_value("unused_parameter_size", up_to(trimmed(*unused), " "), place, facts);
    if (const auto iteration = after_mark(line, "[before iteration "))
      keep_value("iteration", up_to(*iteration, "]"), place, facts);
    return true;
  }
  // The whole logging data on one line.
  if (says("bucket_cap_bytes") && says("find_unused_parameters")) {
    for (const std::string_view key : kDdpKeys)
      for (const char quote : {'"', '\''})
        if (const auto behind = after_mark(line, quote + std::string(key) + quote))
          if (const auto value = value_behind(*behind, false))
            keep_value(key, *value, place, facts);
    return true;
  }
  return take_entries(line, place, facts);
}

}  // namespace ddpsim
