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

/// "2.8", "1.13.1", "2.8.0+cu128" (patch level and local part decide nothing and are dropped). Absent
/// when malformed.
std::optional<TorchVersion> parse_torch_version(std::string_view text);
/// "2.27.3" or "2.27" (patch 0). Absent when malformed.
std::optional<NcclVersion> parse_nccl_version(std::string_view text);
std::string to_string(TorchVersion version);
std::string to_string(NcclVersion version);

/// The NCCL that the official wheels of this PyTorch ship.
NcclVersion bundled_nccl(TorchVersion version);

}  // namespace ddpsim
