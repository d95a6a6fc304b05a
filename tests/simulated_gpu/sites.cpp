#include "sites.hpp"

#include <execinfo.h>
#include <link.h>

#include <cstring>

#include "machine.hpp"

namespace simulated_gpu {
namespace {

/// The address range of the program's own code.
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
          return 1;  // the first object is the program
        },
        this);
  }
};

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

void note(const Site& site) {
  Machine& m = machine();
  for (int i = 0; i < m.sites_used; ++i)
    if (m.sites[i].hash == site.hash) return;
  if (m.sites_used == kSites) give_up("more than %d places that synchronise", kSites);
  m.sites[m.sites_used++] = site;
}

}  // namespace

bool skipped(const char* call) {
  const Settings& settings = machine().settings;
  if (!settings.note_sites && settings.skip == 0) return false;
  const Site site = site_of(call);
  note(site);
  return settings.skip == site.hash;
}

}  // namespace simulated_gpu
