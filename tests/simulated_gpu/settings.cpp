#include "settings.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "faults.hpp"

namespace simulated_gpu {
namespace {

// Where the table has no rows: a latency, and the rate of one NVLink of a V100.
constexpr std::int64_t kAllReduceLatencyNs = 15000;
constexpr double kAllReduceBytesPerNs = 20;

void read_table(const char* path, Settings& settings) {
  std::ifstream file(path);
  if (!file) give_up("SIMULATED_GPU_TABLE: %s cannot be read", path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key;
    if (!(words >> key) || key.front() == '#') continue;
    bool good = false;
    if (key == "all_reduce") {
      AllReduceRow row{};
      good =
          settings.all_reduce_rows < kTableRows && static_cast<bool>(words >> row.bytes >> row.ns);
      if (good) settings.all_reduce[settings.all_reduce_rows++] = row;
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
    if (!good) give_up("SIMULATED_GPU_TABLE: %s: \"%s\" is no line of a table", path, line.c_str());
  }
}

}  // namespace

std::int64_t Settings::all_reduce_ns(std::int64_t bytes) const {
  if (all_reduce_rows == 0)
    return kAllReduceLatencyNs +
           static_cast<std::int64_t>(static_cast<double>(bytes) / kAllReduceBytesPerNs);
  int above = 0;
  while (above < all_reduce_rows && all_reduce[above].bytes < bytes) ++above;
  if (above == all_reduce_rows) {  // beyond: in proportion
    const AllReduceRow& last = all_reduce[above - 1];
    return static_cast<std::int64_t>(static_cast<double>(last.ns) * static_cast<double>(bytes) /
                                     static_cast<double>(last.bytes));
  }
  if (above == 0 || all_reduce[above].bytes == bytes) return all_reduce[above].ns;
  const AllReduceRow& low = all_reduce[above - 1];
  const AllReduceRow& high = all_reduce[above];
  return low.ns + (high.ns - low.ns) * (bytes - low.bytes) / (high.bytes - low.bytes);
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
    settings.skip = std::strtoull(skip, nullptr, 16);  // "each" has no number
  if (settings.devices > kDevices) give_up("SIMULATED_GPU_DEVICES: at most %d", kDevices);
  if (const char* table = std::getenv("SIMULATED_GPU_TABLE")) read_table(table, settings);
  return settings;
}

std::int64_t number_from_environment(const char* name, std::int64_t absent) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return absent;
  char* end = nullptr;
  const std::int64_t number = std::strtoll(text, &end, 0);
  if (*end != '\0') give_up("%s=%s is no number", name, text);
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
