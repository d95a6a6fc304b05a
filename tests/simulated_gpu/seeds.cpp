// The program over many seeds, each a run of its own from main() on, loaded once:
//
//   SIMULATED_GPU_SEEDS=FIRST:LAST   ends with the first run that fails, its number, and what it said
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

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

int main_of_every_seed(int count, char** words, char** environment) {
  static const auto fork_process = real::find<decltype(&::fork)>("fork");
  const char* const range = std::getenv("SIMULATED_GPU_SEEDS");
  if (range == nullptr) return program_main(count, words, environment);
  unsigned long first = 0;
  unsigned long last = 0;
  if (std::sscanf(range, "%lu:%lu", &first, &last) != 2 || first == 0)
    give_up("SIMULATED_GPU_SEEDS=%s is not FIRST:LAST, from 1", range);
  stand_aside();
  const int output = file_for_output();
  for (unsigned long seed = first; seed <= last; ++seed) {
    reset_machine();
    machine().settings.seed = machine().random = seed;
    if (ftruncate(output, 0) != 0) give_up("a run's output cannot be emptied");
    const pid_t child = fork_process();
    if (child == 0) {
      lseek(output, 0, SEEK_SET);
      dup2(output, STDOUT_FILENO);
      dup2(output, STDERR_FILENO);
      begin_process(add_thread(getpid()));
      const int code = program_main(count, words, environment);
      std::fflush(nullptr);
      _exit(code);  // what libraries take down at their end would take longer than the run
    }
    const int code = exit_code_of(child);
    if (code == 0) continue;
    std::printf("seed %lu: exit code %d\n%s", seed, code, content_of(output).c_str());
    return code;
  }
  std::printf("seeds %lu to %lu: all well\n", first, last);
  return 0;
}

}  // namespace

extern "C" int __libc_start_main(Main main, int count, char** words, void (*init)(), void (*fini)(),
                                 void (*loader_fini)(), void* stack_end) {
  using Start = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
  program_main = main;
  return real::find<Start>("__libc_start_main")(main_of_every_seed, count, words, init, fini,
                                                loader_fini, stack_end);
}
