// What a machine says of its hardware: `nvidia-smi -q`, `nvidia-smi --query-gpu=… --format=csv`, `lspci -vv`, files of /sys as
// `path: value` lines, `ip link`, `ibv_devinfo`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ddpsim/diagnose/evidence/finding.hpp"

namespace ddpsim {

/// Absent: not said, or "N/A".
struct PcieLink {
  std::optional<double> rate, best_rate;  ///< GT/s of a lane: 2.5 (gen 1), 5, 8, 16, 32, 64
  std::optional<int> width, best_width;   ///< lanes
};

/// One reading of one GPU.
struct GpuState {
  int position = 0;  ///< on its node, in the order of nvidia-smi
  std::string name;  ///< "GPU 00000000:07:00.0", or "GPU 3"
  std::string place;
  std::string model;
  PcieLink link;
  std::optional<bool> idle;  ///< by utilisation, performance state or reason of its clocks
  std::optional<double> power_limit_w, default_power_limit_w;
  std::optional<double> sm_mhz;  ///< as it ran when it was read
  std::optional<double> application_sm_mhz, default_application_sm_mhz, most_sm_mhz;
  bool power_capped = false;  ///< by software, as is usual under load
  bool reasons_read = false;  ///< what holds its clocks down was asked
  std::vector<std::string>
      slowed_by;  ///< active reasons of low clocks that name a fault: "HW Thermal Slowdown"
};

/// A device of `lspci` or /sys that is no GPU of the lists above.
struct PcieDevice {
  enum class Kind { gpu, nic, other };
  std::string name;  ///< "3b:00.0", "mlx5_0"
  std::string place;
  Kind kind = Kind::other;
  std::string title;  ///< lspci's own words, or the kind of card (hca_type, board_id)
  PcieLink link;
};

struct NicPort {
  std::string place;
  std::string state;                ///< "ACTIVE", "DOWN"
  std::optional<double> rate_gbps;  ///< as the file says: "200 Gb/sec (4X HDR)"
  std::optional<int> lanes;         ///< 4 of "4X"
};

struct MachineFacts {
  std::string node;  ///< as the evidence names it
  std::string driver, cuda;
  std::string place;  ///< of the first line read
  std::vector<GpuState> gpus;
  std::map<std::string, PcieDevice> devices;
  std::map<std::string, NicPort> ports;                    ///< "mlx5_0/1"
  std::map<std::string, std::pair<int, std::string>> mtu;  ///< bytes by interface, and the place
  std::map<std::string, std::pair<std::string, std::string>>
      interface_states;          ///< "UP", "DOWN" by interface, and the place
  std::vector<std::string> acs;  ///< bridges whose ACSCtl redirects requests
  std::string acs_place;
  bool acs_read = false;  ///< ACSCtl of a switch's port was read
  /// Of `nvidia-smi topo -m`, by GPU and GPU, the lower number first: "NV12", "PIX", "SYS".
  std::map<std::pair<int, int>, std::string> gpu_links;
  std::string gpu_links_place;
};

/// Reads the lines of one text of one node in their order.
class MachineLineReader {
 public:
  /// False: the line says nothing of a machine.
  bool take(std::string_view line, const std::string& place, MachineFacts& facts);

 private:
  bool take_query(std::string_view line, const std::string& place, MachineFacts& facts);
  bool take_smi(std::string_view line, const std::string& place, MachineFacts& facts);
  bool take_lspci(std::string_view line, const std::string& place, MachineFacts& facts);
  bool take_path(std::string_view line, const std::string& place, MachineFacts& facts);
  bool take_interface(std::string_view line, const std::string& place, MachineFacts& facts);
  bool take_verbs(std::string_view line, const std::string& place, MachineFacts& facts);
  bool take_matrix(std::string_view line, const std::string& place, MachineFacts& facts);

  std::vector<std::string> columns_;  ///< of a query's header
  int next_row_ = 0;                  ///< of a query without indices
  int next_gpu_ = 0;                  ///< of nvidia-smi -q
  bool in_smi_ = false;  ///< between the head of `nvidia-smi -q` and another tool's lines
  std::vector<std::pair<std::size_t, std::string>>
      sections_;                ///< of `nvidia-smi -q`: indentation, name
  bool below_switch_ = false;   ///< lspci's block is of a switch's downstream port
  std::string device_;          ///< of lspci: the block's address
  std::string hca_, hca_port_;  ///< of ibv_devinfo
  int matrix_gpus_ = 0;         ///< columns of GPUs in `nvidia-smi topo -m`
};

/// One state for each GPU, of several readings: that under load where one was.
void merge_readings(MachineFacts& facts);

/// Of all nodes: links, ports, clocks, power limits, ACS; and where nodes are unequal.
std::vector<Finding> machine_problems(const std::vector<MachineFacts>& machines);
std::vector<Finding> machine_changes(const std::vector<MachineFacts>& before,
                                     const std::vector<MachineFacts>& after);

}  // namespace ddpsim
