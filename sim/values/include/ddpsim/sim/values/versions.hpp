// Versions that decide which rules hold: PyTorch's for DDP, NCCL's for its tuning table.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace ddpsim {

struct TorchVersion {
  int major = 2;
  int minor = 8;
  constexpr auto operator<=>(const TorchVersion&) const = default;
};

struct NcclVersion {
  int major = 2;
  int minor = 27;
  int patch = 3;
  constexpr auto operator<=>(const NcclVersion&) const = default;
};

/// The newest whose source was read.
struct DeepSpeedVersion {
  int major = 0;
  int minor = 19;
  int patch = 8;
  constexpr auto operator<=>(const DeepSpeedVersion&) const = default;
};
/// The first whose rules are known.
inline constexpr DeepSpeedVersion kOldestDeepSpeed{0, 14, 0};

/// The version whose rules are used if the PyTorch version is unknown.
inline constexpr TorchVersion kAssumedTorch{};
/// The version whose rules are used, and whether it is known or assumed.
struct TorchInForce {
  TorchVersion version = kAssumedTorch;
  bool known = false;
};
/// The stated version, otherwise the one that a workload was recorded with, otherwise
/// kAssumedTorch.
TorchInForce torch_in_force(std::optional<TorchVersion> stated, const std::string& recorded);
/// The newest versions whose rules ddpsim knows.
inline constexpr TorchVersion kNewestTorch{2, 13};
inline constexpr NcclVersion kNewestNccl{2, 30, 0};

/// Accepts "2.8", "1.13.1", "2.8.0+cu128", "2.9.0a0+git1234". Patch level, pre-release and local
/// part change no rule and are dropped. Absent if malformed.
std::optional<TorchVersion> parse_torch_version(std::string_view text);
/// Accepts "2.27.3" or "2.27" (patch 0). Absent if malformed.
std::optional<NcclVersion> parse_nccl_version(std::string_view text);
/// Accepts "0.16.9" or "0.16" (patch 0). Absent if malformed.
std::optional<DeepSpeedVersion> parse_deepspeed_version(std::string_view text);
/// An error for a release that never existed: "PyTorch 1.14 was never released: 2.0 followed 1.13".
/// Empty for releases, for pre-releases (NVIDIA shipped 1.14.0a0) and for versions newer than
/// ddpsim knows.
std::string never_released_torch(std::string_view text);
std::string never_released_nccl(std::string_view text);
std::string to_string(TorchVersion version);
std::string to_string(NcclVersion version);
std::string to_string(DeepSpeedVersion version);

/// The NCCL in the official wheels of this PyTorch.
NcclVersion bundled_nccl(TorchVersion version);

/// The first PyTorch whose wheels run on a GPU of this compute capability (80 for sm_80). 1.7 came
/// with CUDA 11.0, 1.8 with 11.1, 2.0 with 11.8, 2.7 with 12.8.
TorchVersion first_torch_for(int compute_capability);

}  // namespace ddpsim
