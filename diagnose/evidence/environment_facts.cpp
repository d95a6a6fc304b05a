#include "ddpsim/diagnose/evidence/environment_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "environment_table.hpp"
#include "evidence_words.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kMostVariables = 1000;

bool decides_something(std::string_view name) {
  // Families of libraries that compute or send.
  constexpr std::array<std::string_view, 17> kFamilies = {
      "NCCL_", "RCCL_",       "TORCH_",  "PYTORCH_", "CUDA_",  "OMP_",  "MKL_", "KMP_", "GOMP_",
      "FI_",   "NVIDIA_TF32", "CUBLAS_", "CUDNN_",   "RDMAV_", "MLX5_", "HSA_", "HIP_"};
  if (std::ranges::any_of(kFamilies,
                          [&](std::string_view family) { return name.starts_with(family); }))
    return true;
  const EnvironmentRow* row = find_environment_row(name);
  return row != nullptr && row->of_launcher;
}

bool is_variable_name(std::string_view name) {
  return !name.empty() && name.size() <= 80 && (name[0] < '0' || name[0] > '9') &&
         name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string_view::npos;
}

void keep_variable(std::string_view name, std::string_view value, const std::string& place,
                   bool by_nccl, EnvironmentFacts& facts) {
  std::string shown = legible(value, 200);
  const auto same = [&](const EnvironmentVariable& known) {
    return known.name == name && known.value == shown;
  };
  const auto known = std::ranges::find_if(facts.variables, same);
  if (known != facts.variables.end()) {
    known->by_nccl = known->by_nccl || by_nccl;
    return;
  }
  if (facts.variables.size() >= kMostVariables) return;
  facts.variables.push_back(
      {.name = std::string(name), .value = std::move(shown), .place = place, .by_nccl = by_nccl});
}

void take_launcher(std::string_view name, std::string_view value, EnvironmentFacts& facts) {
  if (name == "TORCHELASTIC_RUN_ID") facts.torchrun = true;
  const auto number = leading_number<int>(value);  // Slurm writes "8(x2)"
  if (!number || *number < 1 || *number > 100'000) return;
  if (name.starts_with("OMPI_") || name.starts_with("MPI_") || name == "SLURM_NTASKS_PER_NODE")
    facts.other_launcher = true;
  if (name == "LOCAL_WORLD_SIZE" || name == "OMPI_COMM_WORLD_LOCAL_SIZE" ||
      name == "MPI_LOCALNRANKS" || name == "SLURM_NTASKS_PER_NODE")
    facts.ranks_per_node = *number;
  if (name == "SLURM_CPUS_ON_NODE") facts.cores = *number;
}

/// Takes a listed variable: the name must begin the line, which excludes mappings that Python
/// prints.
bool take_listed(std::string_view line, const std::string& place, EnvironmentFacts& facts) {
  line = trimmed(line);
  for (const std::string_view word : {"export ", "declare -x "})
    if (line.starts_with(word)) line = trimmed(line.substr(word.size()));
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view name = line.substr(0, equals);
  if (!is_variable_name(name)) return false;
  if (!decides_something(name)) {
    ++facts.listed;
    return true;
  }
  std::string_view value = line.substr(equals + 1);
  if (value.ends_with('\\')) value = trimmed(value.substr(0, value.size() - 1));
  if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'') &&
      value.back() == value.front())
    value = value.substr(1, value.size() - 2);
  else if (name != "NCCL_NET" && value.find_first_of(" \t") != std::string_view::npos)
    // The line is a sentence that begins with a setting; only names of networks contain blanks.
    return false;
  ++facts.listed;
  take_launcher(name, value, facts);
  keep_variable(name, value, place, false, facts);
  return true;
}

/// Number of cores in a list: "0-3,8" has five.
std::optional<int> cores_in_list(std::string_view list) {
  int count = 0;
  for (const std::string_view cell : cells_of(list)) {
    std::string_view rest = cell;
    const auto low = take_number<int>(rest);
    if (!low || *low < 0 || *low > 100'000) return std::nullopt;
    auto high = low;
    if (rest.starts_with('-')) high = parse_number<int>(rest.substr(1));
    if (!high || *high < *low || *high > 100'000) return std::nullopt;
    count += *high - *low + 1;
    if (count > 100'000) return std::nullopt;
  }
  return count;
}

/// Takes what collect.sh notes about a process: "cores=64", "Cpus_allowed_list=0-7",
/// "torch=2.13.0".
bool take_noted(std::string_view line, const std::string& place, EnvironmentFacts& facts) {
  line = trimmed(line);
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view name = line.substr(0, equals);
  const std::string_view value = line.substr(equals + 1);
  if (name == "cores") {
    const auto cores = parse_number<int>(value);
    if (cores && *cores >= 1 && *cores <= 100'000) facts.cores = *cores;
    return cores.has_value();
  }
  if (name == "Cpus_allowed_list") {
    const auto allowed = cores_in_list(value);
    if (allowed && (!facts.allowed_cores || *allowed < *facts.allowed_cores)) {
      facts.allowed_cores = allowed;
      facts.allowed_place = place;
    }
    return allowed.has_value();
  }
  if (name == "seen_by") {
    facts.versions_of_another_python = facts.versions_of_another_python || value != "job";
    return true;
  }
  constexpr std::array<std::string_view, 6> kVersions = {"torch",  "cuda",   "nccl",
                                                         "driver", "python", "kernel"};
  if (std::ranges::find(kVersions, name) == kVersions.end() || value.empty() ||
      value.find(' ') != std::string_view::npos)
    return false;
  facts.versions.try_emplace(
      std::string(name),
      EnvironmentVariable{.name = std::string(name), .value = legible(value, 60), .place = place});
  return true;
}

/// "NCCL_ALGO set by environment to RING"; for NCCL_IB_HCA and NCCL_SOCKET_IFNAME "set to".
bool take_found_by_nccl(std::string_view line, const std::string& place, EnvironmentFacts& facts) {
  for (const std::string_view words : {" set by environment to ", " set to "}) {
    const std::size_t at = line.find(words);
    if (at == std::string_view::npos) continue;
    const std::string_view before = line.substr(0, at);
    const std::string_view name = before.substr(before.find_last_of(" \t") + 1);
    if (!is_variable_name(name) || !name.starts_with("NCCL_")) return false;
    std::string_view value = trimmed(line.substr(at + words.size()));
    if (value.ends_with('.')) value.remove_suffix(1);
    keep_variable(name, value, place, true, facts);
    return true;
  }
  return false;
}

}  // namespace

const EnvironmentVariable* EnvironmentFacts::find(std::string_view name) const {
  const auto found = std::ranges::find(variables, name, &EnvironmentVariable::name);
  return found == variables.end() ? nullptr : &*found;
}

bool take_environment_line(std::string_view line, const std::string& place,
                           EnvironmentFacts& facts) {
  if (line.size() > 20'000) return false;
  if (take_listed(line, place, facts) || take_noted(line, place, facts) ||
      take_found_by_nccl(line, place, facts))
    return true;
  if (const std::string_view bare = trimmed(line); bare.starts_with("CPU(s):")) {
    const auto cores = leading_number<int>(bare.substr(7));
    if (cores && *cores >= 1 && *cores <= 100'000) facts.cores = *cores;
    return cores.has_value();
  }
  // torchrun: "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, …"
  if (line.find("Setting OMP_NUM_THREADS environment variable for each process to be 1") ==
      std::string_view::npos)
    return false;
  facts.torchrun = true;
  return true;
}

void take_environment_block(std::string_view block, const std::string& place,
                            EnvironmentFacts& facts) {
  for (std::size_t number = 1; !block.empty(); ++number) {
    const std::string_view one = block.substr(0, block.find('\0'));
    take_environment_line(one, fmt::format("{}, setting {}", place, number), facts);
    block.remove_prefix(std::min(block.size(), one.size() + 1));
  }
}

}  // namespace ddpsim
