#include "settings.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <tuple>

#include "faults.hpp"

namespace simulated_gpu {
namespace {

// Defaults if the table has no rows: a latency and the rate of one NVLink of a V100.
constexpr std::int64_t kCollectiveLatencyNs = 15000;
constexpr double kCollectiveBytesPerNs = 20;

constexpr const char* kCollectives[] = {"all_reduce", "broadcast", "all_gather", "reduce_scatter",
                                        "reduce"};

/// The collective with this name in the table, or -1.
int collective_named(const std::string& name) {
  for (int i = 0; i < static_cast<int>(std::size(kCollectives)); ++i)
    if (name == kCollectives[i]) return i;
  return -1;
}

/// Orders rows by kind, number of ranks and size.
bool is_before(const CollectiveRow& a, const CollectiveRow& b) {
  return std::tie(a.kind, a.ranks, a.bytes) < std::tie(b.kind, b.ranks, b.bytes);
}

std::int64_t interpolated(const CollectiveRow* first, const CollectiveRow* last,
                          std::int64_t bytes) {
  const CollectiveRow* above = first;
  while (above != last && above->bytes < bytes) ++above;
  if (above == last)  // larger sizes are scaled in proportion
    return static_cast<std::int64_t>(static_cast<double>(above[-1].ns) *
                                     static_cast<double>(bytes) /
                                     static_cast<double>(above[-1].bytes));
  if (above == first || above->bytes == bytes) return above->ns;
  const CollectiveRow& low = above[-1];
  return low.ns + (above->ns - low.ns) * (bytes - low.bytes) / (above->bytes - low.bytes);
}

void read_table(const char* path, Settings& settings) {
  std::ifstream file(path);
  if (!file) give_up("SIMULATED_GPU_TABLE: %s cannot be read", path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key;
    if (!(words >> key) || key.front() == '#') continue;
    bool good = false;
    if (const int kind = collective_named(key); kind >= 0) {
      CollectiveRow row{.kind = static_cast<CollectiveKind>(kind), .bytes = 0, .ns = 0, .ranks = 0};
      good =
          settings.collective_rows < kTableRows && static_cast<bool>(words >> row.bytes >> row.ns);
      if (good && !(words >> row.ranks)) row.ranks = 0;
      if (good) settings.collectives[settings.collective_rows++] = row;
    } else if (key == "work_beside_collective") {
      good = static_cast<bool>(words >> settings.work_beside_collective) &&
             settings.work_beside_collective >= 1;
    } else if (key == "copy_bytes_per_ns") {
      good =
          static_cast<bool>(words >> settings.copy_bytes_per_ns) && settings.copy_bytes_per_ns > 0;
    } else {
      const struct {
        const char* name;
        std::int64_t* value;
      } keys[] = {{"launch_ns", &settings.launch_ns},
                  {"event_ns", &settings.event_ns},
                  {"call_ns", &settings.call_ns},
                  {"collective_launch_ns", &settings.collective_launch_ns},
                  {"wake_ns", &settings.wake_ns},
                  {"message_ns", &settings.message_ns},
                  {"clock_ns", &settings.clock_ns},
                  {"launch_latency_ns", &settings.launch_latency_ns},
                  {"kernel_ns", &settings.kernel_ns},
                  {"event_latency_ns", &settings.event_latency_ns}};
      for (const auto& one : keys)
        if (key == one.name) good = static_cast<bool>(words >> *one.value);
    }
    if (!good)
      give_up("SIMULATED_GPU_TABLE: %s: \"%s\" is not a line of a table", path, line.c_str());
  }
  std::sort(settings.collectives, settings.collectives + settings.collective_rows, is_before);
}

}  // namespace

std::int64_t Settings::collective_ns(CollectiveKind kind, int ranks, std::int64_t bytes) const {
  const auto rows_of = [&](int of_ranks) {
    return std::equal_range(collectives, collectives + collective_rows,
                            CollectiveRow{.kind = kind, .bytes = 0, .ns = 0, .ranks = of_ranks},
                            [](const CollectiveRow& a, const CollectiveRow& b) {
                              return std::tie(a.kind, a.ranks) < std::tie(b.kind, b.ranks);
                            });
  };
  auto [first, last] = rows_of(ranks);
  if (first == last) std::tie(first, last) = rows_of(0);
  if (first != last) return interpolated(first, last, bytes);
  return kCollectiveLatencyNs +
         static_cast<std::int64_t>(static_cast<double>(bytes) / kCollectiveBytesPerNs);
}

Settings settings_from_environment() {
  Settings settings;
  const char* clock = std::getenv("SIMULATED_GPU_CLOCK");
  settings.virtual_clock = clock == nullptr || std::strcmp(clock, "free") != 0;
  settings.seed = static_cast<std::uint64_t>(number_from_environment("SIMULATED_GPU_SEED", 0));
  settings.processes = static_cast<int>(number_from_environment("SIMULATED_GPU_PROCESSES", 1));
  settings.devices = static_cast<int>(number_from_environment("SIMULATED_GPU_DEVICES", kDevices));
  settings.memory_bytes = number_from_environment("SIMULATED_GPU_MEMORY_MIB", 16 << 10) << 20;
  settings.queue = static_cast<int>(number_from_environment("SIMULATED_GPU_QUEUE", settings.queue));
  if (const char* die = std::getenv("SIMULATED_GPU_DIE")) {
    long collective = 0;
    if (std::sscanf(die, "%d:%ld", &settings.dying_rank, &collective) != 2)
      give_up("SIMULATED_GPU_DIE=%s is not RANK:COLLECTIVE", die);
    settings.last_collective = collective;
  }
  if (const char* text = std::getenv("SIMULATED_GPU_FAULT");
      text != nullptr && std::strcmp(text, "drawn") != 0) {
    const std::optional<Fault> fault = fault_of(text);
    if (!fault) give_up("SIMULATED_GPU_FAULT=%s is not KIND:RANK:N", text);
    settings.fault = *fault;
  }
  if (const char* skip = std::getenv("SIMULATED_GPU_SKIP"))
    settings.skip = std::strtoull(skip, nullptr, 16);  // "each" is not a number
  if (settings.devices > kDevices) give_up("SIMULATED_GPU_DEVICES: at most %d", kDevices);
  if (const char* table = std::getenv("SIMULATED_GPU_TABLE")) read_table(table, settings);
  return settings;
}

std::int64_t number_from_environment(const char* name, std::int64_t absent) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return absent;
  char* end = nullptr;
  const std::int64_t number = std::strtoll(text, &end, 0);
  if (*end != '\0') give_up("%s=%s is not a number", name, text);
  return number;
}

void give_up(const char* format, ...) {
  constexpr int kExit = 86;
  va_list arguments;
  va_start(arguments, format);
  std::fputs("simulated GPU: ", stderr);
  std::vfprintf(stderr, format, arguments);
  std::fputc('\n', stderr);
  va_end(arguments);
  syscall(SYS_exit_group, kExit);
  std::abort();
}

}  // namespace simulated_gpu
