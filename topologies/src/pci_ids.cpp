// Sources: the PCI ID Repository (pci.ids, pci-ids.ucw.cz), NVIDIA's table of device ids
// (NVIDIA/gpu-admin-tools gpu/devid_names.py) and AMD's amdgpu_ids; NIC rates from their data
// sheets.
#include "pci_ids.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <span>

namespace ddpsim {
namespace {

constexpr std::uint32_t kNvidia = 0x10de;
constexpr std::uint32_t kAmd = 0x1002;

struct GpuRow {
  std::uint32_t vendor;
  std::uint32_t device;
  PciGpu gpu;
};

constexpr GpuRow kGpus[] = {
    {kNvidia, 0x15f7, {"P100-12GB-PCIE", true}},
    {kNvidia, 0x15f8, {"P100-16GB-PCIE", true}},
    {kNvidia, 0x15f9, {"P100-16GB"}},
    {kNvidia, 0x1db1, {"V100-16GB"}},
    {kNvidia, 0x1db2, {"V100-16GB"}},
    {kNvidia, 0x1db3, {"V100-16GB-PCIE", true}},
    {kNvidia, 0x1db4, {"V100-16GB-PCIE", true}},
    {kNvidia, 0x1db5, {"V100-32GB"}},
    {kNvidia, 0x1db6, {"V100-32GB-PCIE", true}},
    {kNvidia, 0x1db7, {"V100-32GB"}},
    {kNvidia, 0x1db8, {"V100-32GB"}},
    {kNvidia, 0x1df5, {"V100-16GB"}},
    {kNvidia, 0x1df6, {"V100S", true}},
    {kNvidia, 0x1e02, {"TITANRTX", true}},
    {kNvidia, 0x1e04, {"RTX2080Ti", true}},
    {kNvidia, 0x1e07, {"RTX2080Ti", true}},
    {kNvidia, 0x1eb8, {"T4", true}},
    {kNvidia, 0x20b0, {"A100-40GB"}},
    {kNvidia, 0x20b1, {"A100-40GB-PCIE", true}},
    {kNvidia, 0x20b2, {"A100-80GB"}},
    {kNvidia, 0x20b3, {"A100"}},
    {kNvidia, 0x20b5, {"A100-80GB-PCIE", true}},
    {kNvidia, 0x20b7, {"A30", true}},
    {kNvidia, 0x20bd, {"A800-40GB"}},
    {kNvidia, 0x20f1, {"A100-40GB-PCIE", true}},
    {kNvidia, 0x20f3, {"A800-80GB"}},
    {kNvidia, 0x20f5, {"A800-80GB-PCIE", true}},
    {kNvidia, 0x20f6, {"A800-40GB-PCIE", true}},
    {kNvidia, 0x2204, {"RTX3090", true}},
    {kNvidia, 0x2230, {"A6000", true}},
    {kNvidia, 0x2231, {"A5000", true}},
    {kNvidia, 0x2232, {"RTX A4500", true}},
    {kNvidia, 0x2235, {"A40", true}},
    {kNvidia, 0x2236, {"A10", true}},
    {kNvidia, 0x2237, {"A10G", true}},
    {kNvidia, 0x2309, {"H20"}},
    {kNvidia, 0x230c, {"H20"}},
    {kNvidia, 0x230e, {"H20"}},
    {kNvidia, 0x2313, {"H100", true}},
    {kNvidia, 0x2321, {"H100-NVL", true}},
    {kNvidia, 0x2322, {"H800-PCIE", true}},
    {kNvidia, 0x2324, {"H800-SXM"}},
    {kNvidia, 0x2328, {"H20"}},
    {kNvidia, 0x2329, {"H20"}},
    {kNvidia, 0x232c, {"H20"}},
    {kNvidia, 0x2330, {"H100-SXM"}},
    {kNvidia, 0x2331, {"H100-PCIE", true}},
    {kNvidia, 0x2335, {"H200-SXM"}},
    {kNvidia, 0x2336, {"H100"}},
    {kNvidia, 0x2337, {"H100"}},
    {kNvidia, 0x2338, {"H100"}},
    {kNvidia, 0x2339, {"H100"}},
    {kNvidia, 0x233a, {"H800", true}},
    {kNvidia, 0x233b, {"H200-NVL", true}},
    {kNvidia, 0x233d, {"H100"}},
    {kNvidia, 0x2342, {"GH200-96GB"}},
    {kNvidia, 0x2343, {"GH200"}},
    {kNvidia, 0x2345, {"GH200"}},
    {kNvidia, 0x2348, {"GH200-144GB"}},
    {kNvidia, 0x25b6, {"A16 or A2", true}},
    {kNvidia, 0x2684, {"RTX4090", true}},
    {kNvidia, 0x2685, {"RTX 4090 D", true}},
    {kNvidia, 0x26b1, {"RTX6000Ada", true}},
    {kNvidia, 0x26b5, {"L40", true}},
    {kNvidia, 0x26b7, {"L20", true}},
    {kNvidia, 0x26b8, {"L40G", true}},
    {kNvidia, 0x26b9, {"L40S", true}},
    {kNvidia, 0x26ba, {"L20", true}},
    {kNvidia, 0x27b6, {"L2", true}},
    {kNvidia, 0x27b8, {"L4", true}},
    {kNvidia, 0x2901, {"B200"}},
    {kNvidia, 0x2941, {"GB200"}},
    {kNvidia, 0x29bc, {"B100"}},
    {kNvidia, 0x2b85, {"RTX5090", true}},
    {kNvidia, 0x2bb1, {"RTXPRO6000-WORKSTATION", true}},
    {kNvidia, 0x2bb4, {"RTXPRO6000-MAXQ", true}},
    {kNvidia, 0x2bb5, {"RTXPRO6000-SERVER", true}},
    {kNvidia, 0x3182, {"B300"}},
    {kNvidia, 0x31c2, {"GB300"}},
    {kNvidia, 0x31c3, {"GB300"}},
    {kAmd, 0x66a1, {"MI50", true}},
    {kAmd, 0x738c, {"MI100", true}},
    {kAmd, 0x738e, {"MI100", true}},
    {kAmd, 0x7408, {"MI250X"}},
    {kAmd, 0x740c, {"MI250X"}},
    {kAmd, 0x740f, {"MI210", true}},
    {kAmd, 0x74a0, {"MI300A"}},
    {kAmd, 0x74a1, {"MI300X"}},
    {kAmd, 0x74a2, {"MI308X"}},
    {kAmd, 0x74a5, {"MI325X"}},
    {kAmd, 0x74a9, {"MI300X"}},
    {kAmd, 0x74b5, {"MI300X"}},
    {kAmd, 0x74b9, {"MI325X"}},
    {kAmd, 0x75a0, {"MI350X"}},
    {kAmd, 0x75a3, {"MI355X"}},
};

struct NicRow {
  std::uint32_t vendor;
  std::uint32_t device;
  PciNic nic;
};

constexpr NicRow kNics[] = {
    {0x15b3, 0x1013, {"ConnectX-4", 100}},
    {0x15b3, 0x1014, {"ConnectX-4", 100}},
    {0x15b3, 0x1015, {"ConnectX-4 Lx", 50}},
    {0x15b3, 0x1016, {"ConnectX-4 Lx", 50}},
    {0x15b3, 0x1017, {"ConnectX-5", 100}},
    {0x15b3, 0x1018, {"ConnectX-5", 100}},
    {0x15b3, 0x1019, {"ConnectX-5 Ex", 100}},
    {0x15b3, 0x101a, {"ConnectX-5 Ex", 100}},
    {0x15b3, 0x101b, {"ConnectX-6", 200}},
    {0x15b3, 0x101c, {"ConnectX-6", 200}},
    {0x15b3, 0x101d, {"ConnectX-6 Dx", 200}},
    {0x15b3, 0x101f, {"ConnectX-6 Lx", 50}},
    {0x15b3, 0x1021, {"ConnectX-7", 400}},
    {0x15b3, 0x1023, {"ConnectX-8", 800}},
    {0x15b3, 0xa2d6, {"BlueField-2", 200}},
    {0x15b3, 0xa2dc, {"BlueField-3", 400}},
    {0x17db, 0x0501, {"Slingshot 11", 200, NetworkKind::slingshot}},
    {0x1ae0, 0x0042, {"gVNIC", 200, NetworkKind::tcp}},
    {0x1d0f, 0xec20, {"ENA", 200, NetworkKind::tcp}},
    {0x1d0f, 0xefa0, {"EFA", 100, NetworkKind::efa}},
    {0x1d0f, 0xefa1, {"EFA", 100, NetworkKind::efa}},
    {0x1d0f, 0xefa2, {"EFA", 100, NetworkKind::efa}},
    {0x1d0f, 0xefa3, {"EFA", 400, NetworkKind::efa}},
};

/// Converts "0x10de" to a number; absent if it is not one.
std::optional<std::uint32_t> id_of(std::string_view written) {
  if (!written.starts_with("0x") && !written.starts_with("0X")) return std::nullopt;
  written.remove_prefix(2);
  constexpr int kHex = 16;
  std::uint32_t id = 0;
  const auto [rest, error] =
      std::from_chars(written.data(), written.data() + written.size(), id, kHex);
  if (error != std::errc() || rest != written.data() + written.size()) return std::nullopt;
  return id;
}

template <typename Row>
const Row* find_device(std::span<const Row> rows, std::string_view vendor,
                       std::string_view device) {
  const auto vendor_id = id_of(vendor);
  const auto device_id = id_of(device);
  if (!vendor_id || !device_id) return nullptr;
  const auto found = std::ranges::find_if(
      rows, [&](const Row& row) { return row.vendor == *vendor_id && row.device == *device_id; });
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace

std::optional<PciGpu> pci_gpu(std::string_view vendor, std::string_view device) {
  const GpuRow* row = find_device(std::span<const GpuRow>(kGpus), vendor, device);
  return row == nullptr ? std::nullopt : std::optional(row->gpu);
}

std::optional<PciNic> pci_nic(std::string_view vendor, std::string_view device) {
  const NicRow* row = find_device(std::span<const NicRow>(kNics), vendor, device);
  return row == nullptr ? std::nullopt : std::optional(row->nic);
}

}  // namespace ddpsim
