#include "constant_words.hpp"

#include <array>
#include <utility>

namespace ddpsim {

ConstantWords constant_words(std::string_view constant) {
  using Entry = std::pair<std::string_view, ConstantWords>;
  static constexpr std::array kWords{
      Entry{"launch_us", {"us", "launching the kernel, ranks meeting"}},
      Entry{"start_us", {"us", "first round of buffer handshakes"}},
      Entry{"local_us", {"us", "one hop between GPUs of a node"}},
      Entry{"hop_us", {"us", "one hop between nodes"}},
      Entry{"rendezvous_us", {"us", "more per such hop from 64 KiB on"}},
      Entry{"local_share", {"share", "of the rate between GPUs that is data"}},
      Entry{"nic_share", {"share", "of a NIC's rate that is data"}},
      Entry{"single_gpu_per_node", {"factor", "on that where one GPU feeds all NICs"}},
      Entry{"ll_gbps", {"GB/s", "one thread block moves with LL"}},
      Entry{"ll128_gbps", {"GB/s", "one thread block moves with LL128"}},
      Entry{"nvls_start_us", {"us", "first round of handshakes with NVLS"}},
      Entry{"nvls_wave_us", {"us", "one wave of chunks through the NVSwitch"}},
      Entry{"nvls_share", {"share", "of the NVSwitch's rate that is data"}},
      Entry{"overlap", {"exponent", "of latency hidden by transfer; 1: none"}},
      Entry{"per_channel_start_us", {"us", "more to start per further thread block"}},
      Entry{"ring_ends", {"share", "of a ring's last copy that is seen"}},
      Entry{"tree_share", {"share", "of a ring's network rate, trees of three nodes and more"}},
      Entry{"ll_share", {"share", "of that with LL that is seen between nodes"}},
      Entry{"hop_growth[0]", {"log", "growth of a hop between nodes, 1 to 4 KiB"}},
      Entry{"hop_growth[1]", {"log", "the same, 4 to 16 KiB"}},
      Entry{"hop_growth[2]", {"log", "the same, 16 to 64 KiB"}}};
  for (const auto& [name, words] : kWords)
    if (name == constant) return words;
  return {};
}

}  // namespace ddpsim
