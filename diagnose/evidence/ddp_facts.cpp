#include "ddpsim/diagnose/evidence/ddp_facts.hpp"

#include <algorithm>
#include <array>

#include "evidence_words.hpp"

namespace ddpsim {
namespace {

/// Of logger.cpp; "iteration", "world_size" and "nccl_version" are everybody's words, and count behind another of these alone.
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

/// `text` begins behind the key: `": 1,`, `': 'N/A',`, `: 26214400`.
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
  // Of ranks and iterations what says most: one parameter unused anywhere is unused.
  if (first || (key != "iteration" && key != "unused_parameter_size")) return;
  const auto was = parse_number<std::int64_t>(at->second.text);
  const auto is = parse_number<std::int64_t>(value);
  if (is && (!was || *is > *was)) at->second = {std::string(value), place};
}

/// Where the next quoted key of DDP's begins behind the first; the end where none does. Lists have commas, too.
std::size_t next_key(std::string_view entries) {
  for (std::size_t at = entries.find(',', 1); at != std::string_view::npos;
       at = entries.find(',', at + 1)) {
    std::string_view behind = trimmed(entries.substr(at + 1));
    const std::string_view quote = behind.substr(0, 1);
    if (quote != "\"" && quote != "'") continue;
    behind.remove_prefix(1);
    const std::string_view name = up_to(behind, quote);
    if (std::ranges::find(kDdpKeys, name) != kDdpKeys.end() &&
        trimmed(behind.substr(std::min(name.size() + 1, behind.size()))).starts_with(':'))
      return at + 1;
  }
  return entries.size();
}

/// `"world_size": 8,`, `world_size : 8`.
bool take_entry(std::string_view entry, const std::string& place, DdpFacts& facts) {
  entry = trimmed(entry);
  if (entry.starts_with('{')) entry = trimmed(entry.substr(1));
  if (entry.starts_with('"') || entry.starts_with('\'')) entry.remove_prefix(1);
  const std::string_view name = up_to(entry, "\"': ");
  if (std::ranges::find(kDdpKeys, name) == kDdpKeys.end()) return false;
  if (is_everybodys(name) && facts.values.empty()) return false;
  const auto value = value_behind(entry.substr(name.size()), true);
  if (!value) return false;
  keep_value(name, *value, place, facts);
  return true;
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
  if (says("bucket_cap_bytes") && says("find_unused_parameters")) {  // all of it on one line
    for (const std::string_view key : kDdpKeys)
      for (const char quote : {'"', '\''})
        if (const auto behind = after_mark(line, quote + std::string(key) + quote))
          if (const auto value = value_behind(*behind, false))
            keep_value(key, *value, place, facts);
    return true;
  }
  bool taken = false;  // several keys may stand on one of several lines
  for (std::string_view rest = trimmed(line); !rest.empty();) {
    const std::string_view entry = rest.substr(0, next_key(rest));
    rest.remove_prefix(entry.size());
    taken = take_entry(entry, place, facts) || taken;
  }
  return taken;
}

}  // namespace ddpsim
