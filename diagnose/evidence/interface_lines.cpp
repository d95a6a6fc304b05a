// Network interfaces and ports of InfiniBand.
//
//   ip link                "2: eth0: <…> mtu 9000 qdisc …"
//   ibv_devinfo, ibstat    "hca_id: mlx5_0", "CA 'mlx5_0'", "Port 1:", then state, rate and MTU
#include "ddpsim/diagnose/evidence/machine_facts.hpp"
#include "ddpsim/formats/log_words.hpp"
#include "evidence_words.hpp"
#include "machine_values.hpp"

namespace ddpsim {

bool MachineLineReader::take_interface(std::string_view line, const std::string& place,
                                       MachineFacts& facts) {
  const auto mtu = after_mark(line, "> mtu ");
  if (!mtu) return false;
  const Words words = words_of(line);
  const std::size_t index = words.empty() ? 0 : words[0].find_first_not_of("0123456789");
  if (words.size() < 4 || index == 0 || index == std::string_view::npos ||
      words[0].substr(index) != ":" || !words[1].ends_with(':'))
    return false;
  in_smi_ = false;
  std::string_view name = words[1].substr(0, words[1].size() - 1);
  name = up_to(name, "@");
  // Interfaces of containers and bridges change all the time.
  for (const std::string_view local :
       {"veth", "docker", "br-", "virbr", "cali", "cni", "tun", "tap"})
    if (name.starts_with(local)) return true;
  keep_mtu(name, *mtu, place, facts);
  if (const auto state = after_mark(line, " state ");
      state && name != "lo" && facts.interface_states.size() < kMostDevices)
    facts.interface_states.try_emplace(legible(name, 40), upper_word(up_to(*state, " ")), place);
  return true;
}

bool MachineLineReader::take_verbs(std::string_view line, const std::string& place,
                                   MachineFacts& facts) {
  const std::string_view bare = trimmed(line);
  if (const auto hca = after_mark(bare, "hca_id:"); hca && bare.starts_with("hca_id:")) {
    hca_ = legible(trimmed(*hca), 40);
    hca_port_.clear();
    in_smi_ = false;
    return true;
  }
  if (bare.starts_with("CA '") && bare.size() < 60) {
    hca_ = legible(up_to(bare.substr(4), "'"), 40);
    hca_port_.clear();
    in_smi_ = false;
    return true;
  }
  if (hca_.empty() || in_smi_) return false;
  const std::size_t colon = bare.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view key = bare.substr(0, colon);
  const std::string_view value = trimmed(bare.substr(colon + 1));
  if (key == "port" || (key.starts_with("Port ") && value.empty())) {
    const auto number = leading_number<int>(key == "port" ? value : key.substr(5));
    if (number) hca_port_ = hca_ + '/' + std::to_string(*number);
    return number.has_value();
  }
  if (hca_port_.empty()) return false;
  NicPort* port = port_named(hca_port_, place, facts);
  if (port == nullptr) return false;
  if (key == "state" || key == "State") {  // "PORT_ACTIVE (4)", "Active"
    std::string_view state = up_to(value, " ");
    if (state.starts_with("PORT_")) state.remove_prefix(5);
    port->state = upper_word(state);
  } else if (key == "Rate") {
    port->rate_gbps = positive_number(value);
  } else if (key == "active_mtu") {
    keep_mtu(hca_port_, value, place, facts);
  } else {
    return false;
  }
  return true;
}

}  // namespace ddpsim
