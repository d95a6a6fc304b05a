#include "ddpsim/sim/values/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace ddpsim::assertion {

void failed(const char* file, int line, const char* what, const char* condition, const char* names,
            const std::string& values) {
  const std::string compared = values.empty() ? "" : std::string("; ") + names + " = " + values;
  std::fprintf(stderr, "ddpsim: internal error at %s:%d: %s (%s%s)\n", file, line, what, condition,
               compared.c_str());
  std::abort();
}

}  // namespace ddpsim::assertion
