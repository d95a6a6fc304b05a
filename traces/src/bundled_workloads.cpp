// Workloads compiled into the library. The files are in traces/data.

#include <algorithm>
#include <span>
#include <string>

#include "ddpsim/formats/embedded.hpp"
#include "ddpsim/traces/import.hpp"
#include "ddpsim/traces/workload_file.hpp"

namespace ddpsim {

std::span<const EmbeddedFile> bundled_workload_files();  // written by cmake/Embed.cmake

std::optional<Workload> bundled_workload(std::string_view name) {
  for (const EmbeddedFile& file : bundled_workload_files()) {
    if (file.name == name) return parse_workload(file.text, "bundled " + std::string(file.name));
  }
  return std::nullopt;
}

std::vector<BundledWorkload> bundled_workloads() {
  std::vector<BundledWorkload> list;
  for (const EmbeddedFile& file : bundled_workload_files()) {
    BundledWorkload entry{std::string(file.name), ""};
    const Workload workload = parse_workload(file.text, "bundled " + entry.name);
    for (const auto& [key, text] : workload.provenance) {
      if (key == "summary") entry.summary = text;
    }
    list.push_back(std::move(entry));
  }
  std::sort(list.begin(), list.end(),
            [](const BundledWorkload& a, const BundledWorkload& b) { return a.name < b.name; });
  return list;
}

}  // namespace ddpsim
