// What a machine says about its hardware: `nvidia-smi -q`, `nvidia-smi --query-gpu=… --format=csv`,
// `lspci -vv`, files of /sys as `path: value` lines, `ip link`, `ibv_devinfo`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ddpsim/diagnose/evidence/finding.hpp"

namespace ddpsim {

/// A value is absent if it is not stated or "N/A".
struct PcieLink {
  /// GT/s per lane: 2.5 (gen 1), 5, 8, 16, 32 or 64.
  std::optional<double> rate, best_rate;
  std::optional<int> width, best_width;  ///< lanes
};

/// One reading of one GPU.
struct GpuState {
  int position = 0;  ///< on its node, in the order of nvidia-smi
  std::string name;  ///< "GPU 00000000:07:00.0", or "GPU 3"
  std::string place;
  std::string model;
  PcieLink link;
  /// Judged by utilisation, performance state or the reason of its clocks.
  std::optional<bool> idle;
  std::optional<double> power_limit_w, default_power_limit_w;
  std::optional<double> sm_mhz;  ///< at the time of reading
  std::optional<double> application_sm_mhz, default_application_sm_mhz, most_sm_mhz;
  bool power_capped = false;  ///< by software, which is usual under load
  /// Whether the output includes the reasons for low clocks.
  bool reasons_read = false;
  /// Active reasons for low clocks that name a fault: "HW Thermal Slowdown".
  std::vector<std::string> slowed_by;
};

/// A device in `lspci` or /sys, apart from the GPUs listed above.
struct PcieDevice {
  enum class Kind { gpu, nic, other };
  std::string name;  ///< "3b:00.0", "mlx5_0"
  std::string place;
  Kind kind = Kind::other;
  /// Title from lspci, or the kind of card (hca_type, board_id).
  std::string title;
  PcieLink link;
};

struct NicPort {
  std::string place;
  std::string state;                ///< "ACTIVE", "DOWN"
  std::optional<double> rate_gbps;  ///< as in the file: "200 Gb/sec (4X HDR)"
  std::optional<int> lanes;         ///< 4 of "4X"
};

struct MachineFacts {
  std::string node;  ///< as the evidence names it
  std::string driver, cuda;
  std::string place;  ///< of the first line that was read
  std::vector<GpuState> gpus;
  std::map<std::string, PcieDevice> devices;
  std::map<std::string, NicPort> ports;                    ///< "mlx5_0/1"
  std::map<std::string, std::pair<int, std::string>> mtu;  ///< bytes and place, by interface
  /// "UP" or "DOWN" and the place, by interface.
  std::map<std::string, std::pair<std::string, std::string>> interface_states;
  std::vector<std::string> acs;  ///< bridges whose ACSCtl redirects requests
  std::string acs_place;
  /// Whether the ACSCtl of a switch port was read.
  bool acs_read = false;
  /// From `nvidia-smi topo -m`, by pair of GPUs, lower number first: "NV12", "PIX", "SYS".
  std::map<std::pair<int, int>, std::string> gpu_links;
  std::string gpu_links_place;
};

/// Reads the lines of one text of one node, in order.
class MachineLineReader {
 public:
  /// Returns false if the line says nothing about a machine.
  bool take(std::string_view line, const std::string& place, MachineFacts& facts);

 private:
  bool take_query(std::string_view line, const std::string& place, MachineFacts& facts);
  bool take_smi(std::string_view line, const std::string& place, MachineFacts& facts);
  bool take_lspci(std::string_view line, const std::string& place, MachineFacts& facts);
  bool take_path(std::string_view line, const std::string& place, MachineFacts& facts);
  bool take_interface(std::string_view line, const std::string& place, MachineFacts& facts);
  bool take_verbs(std::string_view line, const std::string& place, MachineFacts& facts);
  bool take_matrix(std::string_view line, const std::string& place, MachineFacts& facts);

  std::vector<std::string> columns_;  ///< from a query's header
  int next_row_ = 0;                  ///< for a query without indices
  int next_gpu_ = 0;                  ///< for nvidia-smi -q
  /// Whether the line lies between the head of `nvidia-smi -q` and another tool's lines.
  bool in_smi_ = false;
  /// Sections of `nvidia-smi -q`: indentation and name.
  std::vector<std::pair<std::size_t, std::string>> sections_;
  /// Whether lspci's block describes a switch's downstream port.
  bool below_switch_ = false;
  std::string device_;          ///< address of lspci's block
  std::string hca_, hca_port_;  ///< from ibv_devinfo
  int matrix_gpus_ = 0;         ///< columns of GPUs in `nvidia-smi topo -m`
};

/// Keeps one state for each GPU with several readings: one under load if there is one.
void merge_readings(MachineFacts& facts);

/// Problems of all nodes (links, ports, clocks, power limits, ACS), and differences between nodes.
std::vector<Finding> machine_problems(const std::vector<MachineFacts>& machines);
std::vector<Finding> machine_changes(const std::vector<MachineFacts>& before,
                                     const std::vector<MachineFacts>& after);

}  // namespace ddpsim
