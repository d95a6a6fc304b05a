#include "ddpsim/sim/values/module_path.hpp"

namespace ddpsim {

std::vector<std::string_view> modules_around(std::string_view module) {
  std::vector<std::string_view> paths;
  for (std::size_t dot = module.find('.'); dot != module.npos; dot = module.find('.', dot + 1))
    paths.push_back(module.substr(0, dot));
  if (!module.empty()) paths.push_back(module);
  return paths;
}

/// A star matches within one name only, so names of path and pattern match in pairs. Of several
/// stars, only the last one met ever has to take more characters.
bool matches_path(std::string_view path, std::string_view pattern) {
  std::size_t at = 0;
  std::size_t in_pattern = 0;
  std::size_t star = pattern.npos;
  std::size_t taken_to = 0;  // end of what that star matches
  while (at < path.size()) {
    if (in_pattern < pattern.size() && pattern[in_pattern] == '*') {
      star = in_pattern++;
      taken_to = at;
    } else if (in_pattern < pattern.size() && pattern[in_pattern] == path[at]) {
      ++in_pattern;
      ++at;
    } else if (star != pattern.npos && path[taken_to] != '.') {
      at = ++taken_to;
      in_pattern = star + 1;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', in_pattern) == pattern.npos;
}

}  // namespace ddpsim
