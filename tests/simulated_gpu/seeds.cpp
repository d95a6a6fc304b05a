// The program over many seeds, each a run of its own from main() on, loaded once:
//
//   SIMULATED_GPU_SEEDS=FIRST:LAST   ends with the first run that fails, its seed, and what it said
//   … and SIMULATED_GPU_SKIP=each    for each place that synchronises: the first seed that finds it missing
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "machine.hpp"
#include "real_calls.hpp"
#include "scheduler.hpp"

using namespace simulated_gpu;

namespace {

using Main = int (*)(int, char**, char**);
Main program_main = nullptr;

/// What a run says, read when it fails.
int file_for_output() {
  const int file = memfd_create("output of a run", 0);
  if (file < 0) give_up("no room for a run's output");
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

Outcome run(const Words& words, std::uint64_t seed, std::uint64_t skip, bool note_sites) {
  static const auto fork_process = real::find<decltype(&::fork)>("fork");
  static const int output = file_for_output();
  reset_machine();
  machine().settings.seed = machine().random = seed;
  machine().settings.skip = skip;
  machine().settings.note_sites = note_sites;
  if (ftruncate(output, 0) != 0) give_up("a run's output cannot be emptied");
  const pid_t child = fork_process();
  if (child == 0) {
    lseek(output, 0, SEEK_SET);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    begin_process(add_thread(getpid()));
    const int code = program_main(words.count, words.words, words.environment);
    std::fflush(nullptr);
    _exit(code);  // what libraries take down at their end would take longer than the run
  }
  const int code = exit_code_of(child);
  return {code, code == 0 ? "" : content_of(output)};
}

int run_every_seed(const Words& words, std::uint64_t first, std::uint64_t last) {
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const Outcome outcome = run(words, seed, machine().settings.skip, false);
    if (outcome.code == 0) continue;
    std::printf("seed %lu: exit code %d\n%s", seed, outcome.code, outcome.said.c_str());
    return outcome.code;
  }
  std::printf("seeds %lu to %lu: all well\n", first, last);
  return 0;
}

std::vector<Site> sites_reached(const Words& words, std::uint64_t seed) {
  if (const Outcome outcome = run(words, seed, 0, true); outcome.code != 0)
    give_up("nothing was left out, and yet: %s", outcome.said.c_str());
  return {machine().sites, machine().sites + machine().sites_used};
}

/// A line for each place: where it is, and the first seed that finds it missing, or none.
int run_without_each(const Words& words, std::uint64_t first, std::uint64_t last) {
  for (const Site& site : sites_reached(words, first)) {
    std::printf("%016lx %s", site.hash, site.call);
    for (const std::int64_t frame : site.frames) std::printf(" %lx", frame);
    Outcome outcome{};
    std::uint64_t seed = first;
    while (seed <= last && (outcome = run(words, seed, site.hash, false)).code == 0) ++seed;
    if (outcome.code == 0) {
      std::printf(" none\n");
    } else {
      std::printf(" %lu %s\n", seed, outcome.said.substr(0, outcome.said.find('\n')).c_str());
    }
    std::fflush(stdout);
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
