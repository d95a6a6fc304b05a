#include "rank_progress.hpp"

namespace ddpsim {

std::vector<std::size_t> parts_by_collective(const Program& program) {
  if (program.empty()) return {};
  std::vector<std::size_t> parts = {0};
  bool launched = false;
  for (std::size_t i = 0; i < program.size(); ++i) {
    if (launched && program[i].action == Action::wait) {
      parts.push_back(i);
      launched = false;
    }
    launched = launched || program[i].action == Action::collective;
  }
  parts.push_back(program.size());
  return parts;
}

}  // namespace ddpsim
