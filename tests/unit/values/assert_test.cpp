// What a failed assertion prints before it ends the program.
#include "ddpsim/sim/values/assert.hpp"

#include <doctest/doctest.h>

using namespace ddpsim;
using namespace ddpsim::literals;

TEST_CASE("assert: the message shows the compared values in order, with units") {
  CHECK(assertion::texts_of() == "");
  CHECK(assertion::texts_of(3, -2) == "3, -2");
  CHECK(assertion::texts_of(std::size_t{7}, 0.5) == "7, 0.500000");
  CHECK(assertion::texts_of(1_us, TimePoint(2_us), 64_KiB) == "1000000 ps, 2000000 ps, 65536 B");
}
