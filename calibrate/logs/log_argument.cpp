// LOG@2x8,NCCL_ALGO=Ring as typed: states what a log does not print.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "ddpsim/calibrate/logs/health.hpp"
#include "ddpsim/calibrate/logs/measured_log.hpp"
#include "ddpsim/formats/csv.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/suggest.hpp"

namespace ddpsim {
namespace {

/// Environment variable of containers that states the installed NCCL version.
constexpr std::string_view kVersion = "NCCL_VERSION";
/// The settings that `tuning_of` reads.
constexpr std::array<std::string_view, 8> kSettings{
    "NCCL_ALGO",        "NCCL_PROTO",          "NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS",
    "NCCL_NVLS_ENABLE", "NCCL_COLLNET_ENABLE", "NCCL_BUFFSIZE",      kVersion};

JobShape parse_shape(std::string_view text, const std::string& file) {
  const std::size_t times = text.find('x');
  const auto nodes = parse_number<std::int64_t>(text.substr(0, times));
  const auto gpus = times == std::string_view::npos
                        ? std::nullopt
                        : parse_number<std::int64_t>(text.substr(times + 1));
  const auto sane = [](const std::optional<std::int64_t>& n, std::int64_t most) {
    return n && *n >= 1 && *n <= most;
  };
  if (!sane(nodes, 100'000) || !sane(gpus, 1024))
    throw InputError({file, "", fmt::format("{} is not NODESxGPUS", in_quotes(text)),
                      "Expected nodes and GPUs per node, such as @2x8"});
  return {static_cast<int>(*nodes), static_cast<int>(*gpus)};
}

std::pair<std::string, std::string> parse_setting(std::string_view text, const std::string& file) {
  const std::size_t equals = text.find('=');
  const std::string name(text.substr(0, equals));
  const std::string value(equals == std::string_view::npos ? "" : text.substr(equals + 1));
  if (std::ranges::find(kSettings, name) == kSettings.end())
    throw InputError(
        {file, "",
         fmt::format("{} is not a setting of NCCL that can be stated here", in_quotes(name)),
         did_you_mean(name, std::vector<std::string>(kSettings.begin(), kSettings.end()),
                      fmt::format("Expected one of {}", fmt::join(kSettings, ", ")))});
  MeasuredLog alone;
  alone.settings = {{name, value}};
  const CollectiveTuning read = tuning_of(alone, {});
  const bool senseless =
      (name == kVersion && (!parse_nccl_version(value) || !never_released_nccl(value).empty())) ||
      (name == "NCCL_ALGO" && !read.algorithms) || (name == "NCCL_PROTO" && !read.protocols) ||
      (name == "NCCL_MIN_NCHANNELS" && !read.min_channels) ||
      (name == "NCCL_MAX_NCHANNELS" && !read.max_channels) ||
      (name == "NCCL_BUFFSIZE" && !parse_number<std::int64_t>(value)) ||
      (name.ends_with("_ENABLE") && value != "0" && value != "1");
  if (value.empty() || senseless)
    throw InputError({file, "", fmt::format("{} is not a valid setting", in_quotes(text)),
                      "Expected such as NCCL_ALGO=Ring or NCCL_VERSION=2.21.5"});
  return {name, value};
}

/// NCCL ignores the case of its words.
bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

[[noreturn]] void contradict(const MeasuredLog& log, std::string_view name,
                             std::string_view printed, std::string_view stated) {
  throw InputError({log.source, "",
                    fmt::format("prints {} {}, but {} is stated", name, printed, stated),
                    "Leave out what the log prints itself"});
}

}  // namespace

LogArgument parse_log_argument(std::string_view text) {
  const std::size_t at = text.rfind('@');
  LogArgument log{.path = std::string(text), .stated = std::nullopt, .settings = {}};
  std::error_code error;
  if (at == std::string_view::npos || std::filesystem::exists(log.path, error)) return log;
  const std::string file(text.substr(0, at));
  log.path = file;
  for (const std::string_view word : cells_of(text.substr(at + 1))) {
    if (word.find('=') != std::string_view::npos || word.starts_with("NCCL")) {
      log.settings.push_back(parse_setting(word, file));
    } else {
      if (log.stated) throw InputError({file, "", "has two job shapes", "Expected one NODESxGPUS"});
      log.stated = parse_shape(word, file);
    }
  }
  return log;
}

void state_settings(const LogArgument& argument, MeasuredLog& log) {
  for (const auto& [name, value] : argument.settings) {
    if (name == kVersion) {
      const NcclVersion version = *parse_nccl_version(value);
      if (log.nccl && *log.nccl != version) contradict(log, "NCCL", to_string(*log.nccl), value);
      log.nccl = version;
      continue;
    }
    const auto printed =
        std::ranges::find(log.settings, name, &std::pair<std::string, std::string>::first);
    if (printed == log.settings.end()) {
      log.settings.emplace_back(name, value);
    } else if (!same_word(printed->second, value)) {
      contradict(log, name, printed->second, value);
    }
  }
}

}  // namespace ddpsim
