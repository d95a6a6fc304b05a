#include "ddpsim/diagnose/evidence/evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ddpsim/formats/csv.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kMostNodes = 10'000;
constexpr std::size_t kMostWarned = 8;

/// Adds a text's lines about a machine to the facts of its node. The first such line creates these
/// facts, because NCCL's logs name no machine.
class NodeReader {
 public:
  NodeReader(const std::string& node, std::vector<MachineFacts>& machines) : machines_(machines) {
    const auto at = std::ranges::find(machines, node, &MachineFacts::node);
    if (at != machines.end()) index_ = static_cast<std::size_t>(at - machines.begin());
    fresh_.node = node;
  }
  void take(std::string_view line, const std::string& place) {
    if (!lines_.take(line, place, index_ ? machines_[*index_] : fresh_) || index_) return;
    if (machines_.size() >= kMostNodes) return;
    machines_.push_back(std::move(fresh_));
    index_ = machines_.size() - 1;
  }

 private:
  std::vector<MachineFacts>& machines_;
  std::optional<std::size_t> index_;
  MachineFacts fresh_;
  MachineLineReader lines_;
};

/// Findings by class, in the order in which they were found, without duplicates.
std::vector<Finding> in_order(std::vector<Finding> findings) {
  std::ranges::stable_sort(findings, {}, &Finding::what);
  std::vector<Finding> kept;
  for (Finding& finding : findings) {
    const auto same = [&](const Finding& known) {
      return known.what == finding.what && known.says == finding.says;
    };
    if (std::ranges::none_of(kept, same)) kept.push_back(std::move(finding));
  }
  return kept;
}

/// Whether the log names every variable that NCCL read. NCCL prints each one unless that subsystem
/// is excluded.
bool lists_variables(const Evidence& evidence) {
  const EnvironmentVariable* of = evidence.environment.find("NCCL_DEBUG_SUBSYS");
  const bool printed = of == nullptr || of->value.find("ENV") != std::string::npos ||
                       of->value.find("ALL") != std::string::npos;
  // An excerpt may lack them. Its beginning, the version, and the end of the initialisation
  // surround them.
  return printed && evidence.nccl.variables_read();
}

/// Whether a line holds two lines of ranks that write to one file at the same time. Its content
/// belongs to neither rank.
bool holds_two_lines(std::string_view line) {
  constexpr std::string_view kMark = " NCCL INFO ";
  const std::size_t first = line.find(kMark);
  return first != std::string_view::npos && line.find(kMark, first + 1) != std::string_view::npos;
}

void take_text(std::string_view text, const std::string& file, const std::string& node,
               Evidence& evidence) {
  NcclLineReader nccl;
  NodeReader machine(node, evidence.machines);
  const bool ends = text.ends_with('\n');
  for (std::size_t line = 1; !text.empty(); ++line) {
    std::string_view content = take_line(text);
    if (content.ends_with('\r')) content.remove_suffix(1);
    if (content.empty()) continue;
    const std::string place = fmt::format("{}:{}", file, line);
    if (content.size() > kLongestLogLine) {
      if (evidence.warnings.size() < kMostWarned)
        evidence.warnings.push_back(fmt::format(
            "{}: ignored, because it is longer than {} MiB, unlike any line of NCCL or a trainer",
            place, kLongestLogLine >> 20));
      continue;
    }
    if (holds_two_lines(content)) {
      evidence.nccl.torn = true;
      continue;
    }
    const bool may_be_cut = text.empty() && !ends && line > 1;
    if (content.find('\0') != std::string_view::npos) {  // /proc/PID/environ
      take_environment_block(content, place, evidence.environment);
      continue;
    }
    if (may_be_cut && !nccl.is_whole(content)) continue;
    const bool of_nccl = nccl.take(content, place, evidence.nccl);
    const bool of_environment = take_environment_line(content, place, evidence.environment);
    if (of_nccl || of_environment || take_ddp_line(content, place, evidence.ddp)) continue;
    if (!may_be_cut) machine.take(content, place);
  }
}

void add_all(std::vector<Finding> more, std::vector<Finding>& findings) {
  for (Finding& finding : more) findings.push_back(std::move(finding));
}

}  // namespace

std::vector<std::string_view> Evidence::kinds() const {
  const auto any_machine = [&](auto has) { return std::ranges::any_of(machines, has); };
  const std::pair<bool, std::string_view> all[] = {
      {nccl.lines > 0 || nccl.search_failed, "NCCL's debug lines"},
      {!nccl.versions.empty(), "NCCL's version"},
      {!ddp.empty(), "DDP logging data"},
      {environment.listed > 0 || !environment.variables.empty() || lists_variables(*this),
       "environment variables"},
      {environment.cores || environment.allowed_cores, "CPU cores"},
      {!environment.versions.empty(), "software versions"},
      {any_machine([](const MachineFacts& machine) { return !machine.gpus.empty(); }),
       "states of GPUs"},
      {any_machine([](const MachineFacts& machine) { return !machine.gpu_links.empty(); }),
       "nvidia-smi topo -m"},
      {any_machine([](const MachineFacts& machine) { return !machine.devices.empty(); }),
       "PCIe devices"},
      {any_machine([](const MachineFacts& machine) { return !machine.ports.empty(); }),
       "ports of NICs"},
      {any_machine([](const MachineFacts& machine) { return !machine.mtu.empty(); }),
       "network interfaces"},
      {any_machine([](const MachineFacts& machine) { return machine.acs_read; }), "ACS settings"},
      {any_machine([](const MachineFacts& machine) {
         return !machine.driver.empty() || !machine.cuda.empty();
       }),
       "the driver's version"}};
  std::vector<std::string_view> held;
  for (const auto& [holds, kind] : all)
    if (holds) held.push_back(kind);
  return held;
}

bool Evidence::empty() const {
  // KEY=VALUE appears in many texts. A list of variables of which none matters may be something
  // else.
  return kinds().size() == (environment.listed > 0 ? 1 : 0) && environment.variables.empty();
}

Evidence read_evidence(std::span<const EvidenceText> texts) {
  Evidence evidence;
  for (const EvidenceText& text : texts) take_text(text.text, text.file, text.node, evidence);
  for (MachineFacts& machine : evidence.machines) merge_readings(machine);
  return evidence;
}

Evidence read_evidence(std::string_view text, const std::string& file) {
  Evidence evidence;
  take_text(text, file, "", evidence);
  for (MachineFacts& machine : evidence.machines) merge_readings(machine);
  return evidence;
}

std::vector<Finding> find_problems(const Evidence& evidence) {
  std::vector<Finding> findings = nccl_problems(evidence.nccl);
  add_all(environment_problems(evidence.environment, evidence.nccl), findings);
  add_all(ddp_problems(evidence.ddp), findings);
  add_all(machine_problems(evidence.machines), findings);
  return in_order(std::move(findings));
}

std::vector<Finding> find_changes(const Evidence& before, const Evidence& after) {
  std::vector<Finding> findings = nccl_changes(before.nccl, after.nccl);
  add_all(environment_changes(before.environment, after.environment, before.nccl,
                              lists_variables(before) && lists_variables(after)),
          findings);
  add_all(ddp_changes(before.ddp, after.ddp), findings);
  add_all(machine_changes(before.machines, after.machines), findings);
  // Adds problems that cost time now and were not there before.
  const std::vector<Finding> known = find_problems(before);
  for (Finding& problem : find_problems(after)) {
    const auto same = [&](const Finding& old) {
      return old.what == problem.what && old.says == problem.says;
    };
    if (std::ranges::any_of(known, same)) continue;
    problem.effect = FindingEffect::costs;
    findings.push_back(std::move(problem));
  }
  return in_order(std::move(findings));
}

namespace {

bool reads_clocks(const MachineFacts& machine) {
  return std::ranges::any_of(machine.gpus, &GpuState::reasons_read);
}

bool reads_links(const MachineFacts& machine) {
  return !machine.devices.empty() || std::ranges::any_of(machine.gpus, [](const GpuState& gpu) {
    return gpu.link.rate.has_value();
  });
}

bool tells_of_networks(const NcclFacts& nccl) {
  return !nccl.network_names().empty() || nccl.one_node() || !nccl.gpudirect_of_nics.empty();
}

/// Whether the evidence would show this problem. If the problem is about a variable, its text
/// begins with the variable's name.
bool would_show(const Finding& problem, const Evidence& evidence) {
  using enum CauseClass;
  const auto any_machine = [&](auto has) { return std::ranges::any_of(evidence.machines, has); };
  const bool lists = evidence.environment.listed > 0;
  // NCCL lists only its own variables: NCCL_BLOCKING_WAIT belongs to PyTorch.
  const bool lists_its_own = lists || (problem.says.starts_with("NCCL_") &&
                                       lists_variables(evidence) && problem.what != blocking_wait);
  switch (problem.what) {
    case acs_on:
      return any_machine([](const MachineFacts& machine) { return machine.acs_read; });
    case clocks_held_down:
      return any_machine(reads_clocks);
    case power_limit_lowered:
    case hardware_changed:
    case unequal_nodes:
      return any_machine([](const MachineFacts& machine) { return !machine.gpus.empty(); });
    case pcie_link_below_its_best:
      return any_machine(reads_links);
    case nic_below_its_best:
    case nic_port_down:
      return any_machine([](const MachineFacts& machine) {
        return !machine.ports.empty() || !machine.devices.empty();
      });
    case mtu_unequal:
      return any_machine([](const MachineFacts& machine) { return !machine.mtu.empty(); });
    case nvlink_lost:
      return any_machine([](const MachineFacts& machine) { return !machine.gpu_links.empty(); });
    case socket_instead_of_ib:
    case plugin_missing:
    case gpudirect_one_side:
    case gpudirect_off:
    case shared_memory_off:
      return tells_of_networks(evidence.nccl);
    case topology_search_failed:
    case nccl_error:
    case unequal_versions:
      return evidence.nccl.largest() != nullptr;
    case peer_to_peer_off:
      return lists_its_own || evidence.nccl.peer_to_peer > 0;
    case find_unused_parameters:
    case static_graph_possible:
    case buffers_broadcast:
    case bucket_sizes:
    case bucket_views_off:
    case gradient_strides:
    case comm_hook:
    case no_sync_misplaced:
    case sync_batchnorm:
    case data_parallel_changed:
      return !evidence.ddp.empty();
    // Problems that a variable causes.
    default:
      return lists_its_own;
  }
}

}  // namespace

std::vector<Finding> find_repairs(const Evidence& before, const Evidence& after) {
  const std::vector<Finding> now = find_problems(after);
  std::vector<Finding> repairs;
  for (Finding& problem : find_problems(before)) {
    const bool still = std::ranges::find(now, problem.what, &Finding::what) != now.end();
    if (still || !would_show(problem, after)) continue;
    problem.says = "no longer the case, so there is nothing to do: " + problem.says;
    problem.effect = FindingEffect::relieves;
    repairs.push_back(std::move(problem));
  }
  return repairs;
}

}  // namespace ddpsim
