#include "data_files.hpp"

namespace ddpsim::files {

std::string shared_file(const std::string& path) {
  return DDPSIM_SHARED "/" + path;
}
std::string fixture_file(const std::string& path) {
  return DDPSIM_FIXTURES "/" + path;
}
std::string page(const std::string& path) {
  return DDPSIM_SOURCE "/" + path;
}

}  // namespace ddpsim::files
