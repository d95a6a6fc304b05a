#include "machine.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "ddpsim/sim/values/split_mix.hpp"

namespace simulated_gpu {
namespace {

bool here = false;

void map_at(std::uintptr_t place, std::size_t bytes, int file, off_t offset) {
  void* const wanted = reinterpret_cast<void*>(place);
  void* const got = mmap(wanted, bytes, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, file, offset);
  if (got != wanted) give_up("cannot reserve the machine's memory: %s", std::strerror(errno));
}

/// Only one thread runs at a time, so switching is cheapest on one processor.
void stay_on_one_processor() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  auto skip = static_cast<int>(static_cast<unsigned>(getpid()) %
                               static_cast<unsigned>(CPU_COUNT(&allowed)));
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || skip-- > 0) continue;
    CPU_ZERO(&allowed);
    CPU_SET(cpu, &allowed);
    sched_setaffinity(0, sizeof allowed, &allowed);
    return;
  }
}

/// The file is sparse, so it may exceed a test's limit for the program's output.
bool make_size(int file, off_t bytes) {
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit lifted{limit.rlim_max, limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &lifted);
  const bool made = ftruncate(file, bytes) == 0;
  setrlimit(RLIMIT_FSIZE, &limit);
  return made;
}

constexpr std::size_t rounded(std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  return (bytes + kPage - 1) / kPage * kPage;
}

}  // namespace

void join_machine() {
  if (here) return;
  const char* name = std::getenv("SIMULATED_GPU_MACHINE");
  const int file = name != nullptr ? open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600)
                                   : memfd_create("simulated GPU", MFD_CLOEXEC);
  if (file < 0)
    give_up("cannot open the machine %s: %s", name != nullptr ? name : "", std::strerror(errno));
  flock(file, LOCK_EX);
  if (!make_size(file, static_cast<off_t>(rounded(sizeof(Machine)) + kMemoryBytes)))
    give_up("cannot create the machine: %s", std::strerror(errno));
  map_at(kPlace, rounded(sizeof(Machine)), file, 0);
  map_at(kMemoryPlace, kMemoryBytes, file, static_cast<off_t>(rounded(sizeof(Machine))));
  if (machine().made == 0) reset_machine();
  flock(file, LOCK_UN);
  close(file);
  if (machine().settings.virtual_clock) stay_on_one_processor();
  here = true;
}

void reset_machine() {
  constexpr std::int64_t kBooted = 1'000'000'000'000;  // uptime of the host at the start
  madvise(reinterpret_cast<void*>(kPlace), rounded(sizeof(Machine)), MADV_REMOVE);
  Machine& m = machine();
  m.settings = settings_from_environment();
  m.now = m.cursor = kBooted;
  m.random = m.settings.seed;
  m.fault_time = kNever;
  m.running = -1;
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&m.free_running_lock, &attributes);
  m.made = 1;
}

bool machine_is_here() {
  return here;
}

std::uint64_t draw(std::uint64_t bound) {
  return ddpsim::next_random(machine().random) % bound;
}

}  // namespace simulated_gpu
