#include "sites.hpp"

#include <execinfo.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "machine.hpp"

namespace simulated_gpu {
namespace {

/// Where the program's own code lies.
struct Program {
  std::uintptr_t base = 0;
  std::uintptr_t end = 0;
  Program() {
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* self) {
          auto* program = static_cast<Program*>(self);
          program->base = info->dlpi_addr;
          for (int i = 0; i < info->dlpi_phnum; ++i)
            if (info->dlpi_phdr[i].p_type == PT_LOAD)
              program->end =
                  info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
          return 1;  // the first is the program
        },
        this);
  }
};

/// Callers within the program that tell a place from others: the pool of events, the device, and who asked it.
constexpr int kFrames = 3;

Site site_of(const char* call) {
  static const Program program;
  constexpr int kDeep = 16;
  void* stack[kDeep];
  const int depth = backtrace(stack, kDeep);
  Site site{};
  std::strncpy(site.call, call, sizeof site.call - 1);
  int frames = 0;
  for (int i = 0; i < depth && frames < kFrames; ++i) {
    const auto address = reinterpret_cast<std::uintptr_t>(stack[i]);
    if (address < program.base || address >= program.end) continue;
    site.frames[frames++] = static_cast<std::int64_t>(address - program.base);
  }
  constexpr std::uint64_t kPrime = 1099511628211ULL;
  site.hash = 14695981039346656037ULL;
  for (const char* c = call; *c != '\0'; ++c)
    site.hash = (site.hash ^ static_cast<unsigned char>(*c)) * kPrime;
  for (const std::int64_t frame : site.frames)
    site.hash = (site.hash ^ static_cast<std::uint64_t>(frame)) * kPrime;
  return site;
}

/// Known to the machine, and in the file, once.
void note(const Site& site, const char* path) {
  Machine& m = machine();
  for (int i = 0; i < m.sites_used; ++i)
    if (m.sites[i].hash == site.hash) return;
  if (m.sites_used == kSites) give_up("more than %d places that synchronise", kSites);
  m.sites[m.sites_used++] = site;
  std::FILE* const file = std::fopen(path, "a");
  if (file == nullptr) give_up("SIMULATED_GPU_SITES: %s cannot be written", path);
  std::fprintf(file, "%016lx %s", static_cast<unsigned long>(site.hash), site.call);
  for (const std::int64_t frame : site.frames)
    std::fprintf(file, " %lx", static_cast<unsigned long>(frame));
  std::fputc('\n', file);
  std::fclose(file);
}

}  // namespace

bool skipped(const char* call) {
  static const char* const path = std::getenv("SIMULATED_GPU_SITES");
  static const char* const skip = std::getenv("SIMULATED_GPU_SKIP");
  if (path == nullptr && skip == nullptr) return false;
  const Site site = site_of(call);
  if (path != nullptr) note(site, path);
  return skip != nullptr && std::strtoull(skip, nullptr, 16) == site.hash;
}

}  // namespace simulated_gpu
