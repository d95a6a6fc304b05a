#include "ddpsim/sim/values/versions.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <span>

namespace ddpsim {
namespace {

/// Up to three non-negative numbers separated by dots. Missing numbers are 0.
struct Numbers {
  std::array<int, 3> value{};
  int count = 0;
};

std::optional<Numbers> parse_numbers(std::string_view text) {
  Numbers numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (numbers.count < 3) {
    if (at == end || *at < '0' || *at > '9') return std::nullopt;
    int value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc()) return std::nullopt;
    numbers.value[static_cast<std::size_t>(numbers.count++)] = value;
    at = next;
    if (at == end) return numbers;
    if (*at++ != '.') return std::nullopt;
  }
  return std::nullopt;
}

/// Removes the suffix of a pre-, post- or developmental release (PEP 440): "2.9.0a0" -> "2.9.0",
/// "2.1.0.dev20230801" -> "2.1.0". A text with another ending is returned unchanged.
std::string_view without_release_suffix(std::string_view text) {
  const std::size_t digits = text.find_last_not_of("0123456789");
  if (digits == std::string_view::npos || digits + 1 == text.size()) return text;
  const std::string_view before = text.substr(0, digits + 1);
  for (const std::string_view suffix : {".dev", ".post", "rc", "a", "b"})
    if (before.ends_with(suffix)) return before.substr(0, before.size() - suffix.size());
  return text;
}

/// A PyTorch release and the NCCL in its wheels.
struct Bundle {
  TorchVersion torch;
  NcclVersion nccl;
};

// Ascending. Source: the nvidia-nccl requirement of each release's default CUDA wheel (before 1.13:
// the submodule). A version in between has the NCCL of the one before it.
constexpr std::array kBundles{
    Bundle{{1, 0}, {2, 3, 7}},  Bundle{{1, 3}, {2, 4, 8}},   Bundle{{1, 6}, {2, 4, 8}},
    Bundle{{1, 7}, {2, 7, 8}},  Bundle{{1, 10}, {2, 10, 3}}, Bundle{{1, 13}, {2, 14, 3}},
    Bundle{{2, 1}, {2, 18, 1}}, Bundle{{2, 2}, {2, 19, 3}},  Bundle{{2, 3}, {2, 20, 5}},
    Bundle{{2, 5}, {2, 21, 5}}, Bundle{{2, 7}, {2, 26, 2}},  Bundle{{2, 8}, {2, 27, 3}},
    Bundle{{2, 9}, {2, 27, 5}}, Bundle{{2, 11}, {2, 28, 9}}, Bundle{{2, 12}, {2, 29, 7}},
};

/// The last release before the next major version.
struct LastOfMajor {
  int major;
  int minor;
};
// From the projects' release notes: PyTorch 0.4.1 and 1.13.1, NCCL 1.3.4.
constexpr std::array kLastTorch{LastOfMajor{0, 4}, LastOfMajor{1, 13}};
constexpr std::array kLastNccl{LastOfMajor{1, 3}};

/// Empty if the version was released or may still be.
std::string never_released(std::string_view library, int major, int minor,
                           std::span<const LastOfMajor> finished) {
  for (const LastOfMajor& last : finished)
    if (major == last.major && minor > last.minor)
      return fmt::format("{} {}.{} was never released: {}.0 followed {}.{}", library, major, minor,
                         major + 1, major, last.minor);
  return "";
}

}  // namespace

std::optional<TorchVersion> parse_torch_version(std::string_view text) {
  const std::size_t local = text.find('+');  // torch.__version__ of a wheel: "2.8.0+cu128"
  if (local != std::string_view::npos && local + 1 == text.size()) return std::nullopt;
  const auto numbers = parse_numbers(without_release_suffix(text.substr(0, local)));
  if (!numbers || numbers->count < 2) return std::nullopt;
  return TorchVersion{numbers->value[0], numbers->value[1]};
}

std::optional<NcclVersion> parse_nccl_version(std::string_view text) {
  const auto numbers = parse_numbers(text);
  if (!numbers || numbers->count < 2) return std::nullopt;
  return NcclVersion{numbers->value[0], numbers->value[1], numbers->value[2]};
}

std::optional<DeepSpeedVersion> parse_deepspeed_version(std::string_view text) {
  const auto numbers = parse_numbers(text);
  if (!numbers || numbers->count < 2) return std::nullopt;
  return DeepSpeedVersion{numbers->value[0], numbers->value[1], numbers->value[2]};
}

std::string never_released_torch(std::string_view text) {
  const std::string_view release = text.substr(0, text.find('+'));
  const auto version = parse_torch_version(text);
  if (!version || without_release_suffix(release) != release) return "";
  return never_released("PyTorch", version->major, version->minor, kLastTorch);
}

std::string never_released_nccl(std::string_view text) {
  const auto version = parse_nccl_version(text);
  if (!version) return "";
  return never_released("NCCL", version->major, version->minor, kLastNccl);
}

std::string to_string(TorchVersion version) {
  return fmt::format("{}.{}", version.major, version.minor);
}

std::string to_string(NcclVersion version) {
  return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

std::string to_string(DeepSpeedVersion version) {
  return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

NcclVersion bundled_nccl(TorchVersion version) {
  NcclVersion nccl = kBundles.front().nccl;
  for (const Bundle& bundle : kBundles) {
    if (bundle.torch <= version) nccl = bundle.nccl;
  }
  return nccl;
}

TorchVersion first_torch_for(int compute_capability) {
  if (compute_capability >= 100) return {2, 7};
  if (compute_capability >= 89) return {2, 0};
  if (compute_capability >= 86) return {1, 8};
  if (compute_capability >= 80) return {1, 7};
  return {1, 0};
}

TorchInForce torch_in_force(std::optional<TorchVersion> stated, const std::string& recorded) {
  if (!stated && never_released_torch(recorded).empty()) stated = parse_torch_version(recorded);
  return {.version = stated.value_or(kAssumedTorch), .known = stated.has_value()};
}

}  // namespace ddpsim
