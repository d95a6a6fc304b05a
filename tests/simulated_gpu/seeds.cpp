// Runs the program once for each seed, loaded once and started from main() each time:
//
// - `SIMULATED_GPU_SEEDS=FIRST:LAST` ends with the first run that fails, and prints its seed and
//   output.
// - `SIMULATED_GPU_FAULT=drawn` also draws a fault for each seed (faults.hpp), runs it in its own
//   folder, and prints the outcome.
// - `SIMULATED_GPU_SKIP=each` also omits each place that synchronises, and prints the first seed
//   that notices.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "faults.hpp"
#include "machine.hpp"
#include "real_calls.hpp"
#include "scheduler.hpp"

using namespace simulated_gpu;

namespace {

using Main = int (*)(int, char**, char**);
Main program_main = nullptr;

/// Collects a run's output, which is read if the run fails.
int file_for_output() {
  const int file = memfd_create("output of a run", 0);
  if (file < 0) give_up("cannot create a file for a run's output");
  return file;
}

std::string content_of(int file) {
  std::string text(static_cast<std::size_t>(lseek(file, 0, SEEK_END)), '\0');
  const ssize_t read = pread(file, text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(read < 0 ? 0 : read));
  return text;
}

int exit_code_of(pid_t child) {
  static const auto wait_pid = real::find<decltype(&::waitpid)>("waitpid");
  int status = 0;
  wait_pid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

struct Words {
  int count;
  char** words;
  char** environment;
};

struct Outcome {
  int code;
  std::string said;
};

struct Order {
  std::uint64_t seed = 0;
  std::uint64_t skip = 0;
  bool note_sites = false;
  Fault fault = {};
  /// Folder in which the program runs; it is created.
  std::string folder = {};
};

Outcome run(const Words& words, const Order& order) {
  static const auto fork_process = real::find<decltype(&::fork)>("fork");
  static const int output = file_for_output();
  reset_machine();
  machine().settings.seed = machine().random = order.seed;
  machine().settings.skip = order.skip;
  machine().settings.note_sites = order.note_sites;
  machine().settings.fault = order.fault;
  if (ftruncate(output, 0) != 0) give_up("cannot empty a run's output");
  const pid_t child = fork_process();
  if (child == 0) {
    lseek(output, 0, SEEK_SET);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    if (!order.folder.empty()) dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
    if (!order.folder.empty() &&
        (mkdir(order.folder.c_str(), 0700) != 0 || chdir(order.folder.c_str()) != 0))
      give_up("cannot create folder %s", order.folder.c_str());
    begin_process(add_thread(getpid()));
    const int code = program_main(words.count, words.words, words.environment);
    std::fflush(nullptr);
    // Skips the libraries' cleanup, which would take longer than the run.
    _exit(code);
  }
  const int code = exit_code_of(child);
  return {code, code == 0 ? "" : content_of(output)};
}

int run_every_seed(const Words& words, std::uint64_t first, std::uint64_t last) {
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const Outcome outcome = run(words, {.seed = seed, .skip = machine().settings.skip});
    if (outcome.code == 0) continue;
    std::printf("seed %lu: exit code %d\n%s", seed, outcome.code, outcome.said.c_str());
    return outcome.code;
  }
  std::printf("seeds %lu to %lu: no failure\n", first, last);
  return 0;
}

std::vector<Site> sites_reached(const Words& words, std::uint64_t seed) {
  if (const Outcome outcome = run(words, {.seed = seed, .note_sites = true}); outcome.code != 0)
    give_up("the run fails without an omission: %s", outcome.said.c_str());
  return {machine().sites, machine().sites + machine().sites_used};
}

/// Prints one line for each place: its location and the first seed that notices the omission, or
/// none.
int run_without_each(const Words& words, std::uint64_t first, std::uint64_t last) {
  for (const Site& site : sites_reached(words, first)) {
    std::printf("%016lx %s", site.hash, site.call);
    for (const std::int64_t frame : site.frames) std::printf(" %lx", frame);
    Outcome outcome{};
    std::uint64_t seed = first;
    while (seed <= last && (outcome = run(words, {.seed = seed, .skip = site.hash})).code == 0)
      ++seed;
    if (outcome.code == 0) {
      std::printf(" none\n");
    } else {
      std::printf(" %lu %s\n", seed, outcome.said.substr(0, outcome.said.find('\n')).c_str());
    }
    std::fflush(stdout);
  }
  return 0;
}

/// Number of processes that outlived the one that was started.
int processes_left() {
  static const auto wait_pid = real::find<decltype(&::waitpid)>("waitpid");
  static const auto kill_process = real::find<decltype(&::kill)>("kill");
  int left = 0;
  for (pid_t ended = 0; (ended = wait_pid(-1, nullptr, WNOHANG)) >= 0;) {
    if (ended > 0) continue;  // had ended, but was not reaped
    ++left;
    for (int slot = 0; slot < machine().threads_used; ++slot)
      if (machine().threads[slot].pid > 0) kill_process(machine().threads[slot].pid, SIGKILL);
    wait_pid(-1, nullptr, 0);
  }
  return left;
}

void tell(const char* name, const Outcome& outcome, const Fault& fault, bool with_order) {
  constexpr double kNsPerSecond = 1e9;
  const Machine& m = machine();
  const bool struck = m.fault_time != kNever;
  std::printf("%s fault %s order %d code %d struck %d after %.6f launched %ld left %d\n", name,
              text_of(fault).c_str(), with_order ? 1 : 0, outcome.code, struck ? 1 : 0,
              struck ? static_cast<double>(m.now - m.fault_time) / kNsPerSecond : 0,
              static_cast<long>(struck ? m.launched_at_fault : m.communicators[0].launched[0]),
              processes_left());
  for (std::size_t at = 0; at < outcome.said.size();) {
    const std::size_t end = std::min(outcome.said.find('\n', at), outcome.said.size());
    std::printf("| %s\n", outcome.said.substr(at, end - at).c_str());
    at = end + 1;
  }
  std::fflush(stdout);
}

/// Half of the faults use a drawn order, and half use the table's times.
int run_with_faults(const Words& words, std::uint64_t first, std::uint64_t last) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const Outcome without = run(words, {.folder = "without"});
  tell("without", without, {}, false);
  if (without.code != 0) return without.code;
  int ranks = 0;
  FaultCounts counts[kRanks];
  while (ranks < kRanks && counts_of(ranks).calls > 0) {
    counts[ranks] = counts_of(ranks);
    ++ranks;
  }
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    machine().random = seed;
    const Fault fault = draw_fault({counts, static_cast<std::size_t>(ranks)});
    const bool with_order = seed % 2 == 1;
    const std::string name = "seed-" + std::to_string(seed);
    const Outcome outcome =
        run(words, {.seed = with_order ? seed : 0, .fault = fault, .folder = name});
    tell(name.c_str(), outcome, fault, with_order);
  }
  return 0;
}

int main_of_every_seed(int count, char** words, char** environment) {
  const char* const range = std::getenv("SIMULATED_GPU_SEEDS");
  if (range == nullptr) return program_main(count, words, environment);
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  if (std::sscanf(range, "%lu:%lu", &first, &last) != 2 || first == 0)
    give_up("SIMULATED_GPU_SEEDS=%s is not FIRST:LAST, from 1", range);
  stand_aside();
  const char* const fault = std::getenv("SIMULATED_GPU_FAULT");
  if (fault != nullptr && std::string_view(fault) == "drawn")
    return run_with_faults({count, words, environment}, first, last);
  const char* const skip = std::getenv("SIMULATED_GPU_SKIP");
  const bool each = skip != nullptr && std::string_view(skip) == "each";
  return (each ? run_without_each : run_every_seed)({count, words, environment}, first, last);
}

}  // namespace

extern "C" int __libc_start_main(Main main, int count, char** words, void (*init)(), void (*fini)(),
                                 void (*loader_fini)(), void* stack_end) {
  using Start = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
  program_main = main;
  return real::find<Start>("__libc_start_main")(main_of_every_seed, count, words, init, fini,
                                                loader_fini, stack_end);
}
