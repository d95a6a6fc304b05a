// Turns NCCL's settings as printed in a log into the settings that our NCCL model knows.

#include "ddpsim/calibrate/logs/health.hpp"
#include "ddpsim/formats/csv.hpp"
#include "ddpsim/formats/log_words.hpp"

namespace ddpsim {
namespace {

/// "RING", "ring,tree", "^NVLS", or "allreduce:ring" from 2.24 on. Words without a meaning here are
/// ignored. Absent if none is left.
template <typename Set, typename Parse>
std::optional<Set> set_of(std::string_view text, Parse parse) {
  const bool except = text.starts_with('^');
  if (except) text.remove_prefix(1);
  Set set = except ? Set::all() : Set();
  for (std::string_view word : cells_of(text)) {
    if (const std::size_t colon = word.rfind(':'); colon != std::string_view::npos) {
      word.remove_prefix(colon + 1);
    }
    const auto value = parse(word);
    if (!value) continue;
    if (except) {
      set.remove(*value);
    } else {
      set.add(*value);
    }
  }
  if (set.empty()) return std::nullopt;
  return set;
}

std::optional<int> count_of(std::string_view text, std::int64_t most) {
  const auto count = parse_number<std::int64_t>(text);
  if (!count || *count < 1 || *count > most) return std::nullopt;
  return static_cast<int>(*count);
}

}  // namespace

CollectiveTuning tuning_of(const MeasuredLog& log, NcclVersion fallback) {
  constexpr std::int64_t kLargestBuffer = 1 << 30;
  CollectiveTuning tuning;
  tuning.nccl = log.nccl.value_or(fallback);
  for (const auto& setting : log.settings) {
    const std::string& name = setting.first;
    const std::string_view value = setting.second;
    if (name == "NCCL_ALGO") tuning.algorithms = set_of<AlgorithmSet>(value, parse_algorithm);
    if (name == "NCCL_PROTO") tuning.protocols = set_of<ProtocolSet>(value, parse_protocol);
    if (name == "NCCL_MIN_NCHANNELS") tuning.min_channels = count_of(value, kMostChannels);
    if (name == "NCCL_MAX_NCHANNELS") tuning.max_channels = count_of(value, kMostChannels);
    if (name == "NCCL_NVLS_ENABLE") tuning.nvls = value != "0";
    if (name == "NCCL_COLLNET_ENABLE") tuning.collnet = value == "1";
    if (name == "NCCL_BUFFSIZE") {
      const auto bytes = count_of(value, kLargestBuffer);
      if (bytes && *bytes >= 8192) tuning.buffer = Bytes(*bytes);
    }
  }
  return tuning;
}

}  // namespace ddpsim
