// Versions that decide rules: PyTorch's for DDP, NCCL's for its tuning table.
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

/// Whose rules are taken where nothing says which PyTorch it is.
inline constexpr TorchVersion kAssumedTorch{};
/// Whose rules hold, and whether anything says so.
struct TorchInForce {
  TorchVersion version = kAssumedTorch;
  bool known = false;
};
/// What is stated, else what a workload says it was recorded with, else kAssumedTorch.
TorchInForce torch_in_force(std::optional<TorchVersion> stated, const std::string& recorded);
/// The newest whose rules are known here.
inline constexpr TorchVersion kNewestTorch{2, 13};
inline constexpr NcclVersion kNewestNccl{2, 30, 0};

/// "2.8", "1.13.1", "2.8.0+cu128", "2.9.0a0+git1234" (patch level, pre-release and local part decide
/// nothing and are dropped). Absent when malformed.
std::optional<TorchVersion> parse_torch_version(std::string_view text);
/// "2.27.3" or "2.27" (patch 0). Absent when malformed.
std::optional<NcclVersion> parse_nccl_version(std::string_view text);
/// What is wrong with a release that was never made: "PyTorch 1.14 was never released: 2.0 followed 1.13". Empty for
/// releases, for pre-releases (NVIDIA shipped 1.14.0a0) and for versions newer than those known here.
std::string never_released_torch(std::string_view text);
std::string never_released_nccl(std::string_view text);
std::string to_string(TorchVersion version);
std::string to_string(NcclVersion version);

/// The NCCL that the official wheels of this PyTorch ship.
NcclVersion bundled_nccl(TorchVersion version);

/// The first PyTorch whose wheels run on a GPU of this compute capability (80 for sm_80): 1.7 came with
/// CUDA 11.0, 1.8 with 11.1, 2.0 with 11.8, 2.7 with 12.8.
TorchVersion first_torch_for(int compute_capability);

}  // namespace ddpsim
