// The switch every mutant stands behind. Only sources that scripts/mutate.sh has rewritten include it, first of all.
//
// DDPSIM_MUTANT=17 turns mutant 17 on; without it the program is the original. Which mutants were reached is kept, and at
// the end added to the file DDPSIM_MUTANT_REACH names: their numbers, one a line.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <type_traits>

namespace ddpsim_mutation {

inline constexpr int kMost = 1 << 15;
inline unsigned char reached[kMost] = {};

inline int from_environment() {
  const char* number = std::getenv("DDPSIM_MUTANT");
  return number == nullptr ? -1 : std::atoi(number);
}

struct Switch {
  int active = from_environment();
  ~Switch() {
    const char* path = std::getenv("DDPSIM_MUTANT_REACH");
    std::FILE* file = path == nullptr ? nullptr : std::fopen(path, "a");
    if (file == nullptr) return;
    for (int mutant = 0; mutant < kMost; ++mutant)
      if (reached[mutant]) std::fprintf(file, "%d\n", mutant);
    std::fclose(file);
  }
};
inline Switch the_switch;

inline bool on(int mutant) {
  reached[mutant] = 1;
  return mutant == the_switch.active;
}

/// Within a constexpr function: what is computed while compiling stays the original.
constexpr bool on_at_run_time(int mutant) {
  if (std::is_constant_evaluated()) return false;
  return on(mutant);
}

/// Choosing between the two must not change what the original is: an int stays an int, a reference a reference. A value
/// may turn const.
template <class Either, class Original>
concept Alike = std::is_same_v<std::remove_cv_t<Either>, std::remove_cv_t<Original>>;
template <class Either, class Original>
requires Alike<Either, Original>
inline bool on_alike(int mutant) {
  return on(mutant);
}
template <class Either, class Original>
requires Alike<Either, Original>
constexpr bool on_alike_at_run_time(int mutant) {
  return on_at_run_time(mutant);
}

}  // namespace ddpsim_mutation
