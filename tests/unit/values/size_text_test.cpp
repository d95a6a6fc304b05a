// Sizes as text for people, exact and rounded.
#include "ddpsim/sim/values/size_text.hpp"

#include <doctest/doctest.h>

using namespace ddpsim;

TEST_CASE("size text: the largest binary unit that leaves a whole number") {
  CHECK(size_text(Bytes(0)) == "0 B");
  CHECK(size_text(Bytes(1023)) == "1023 B");
  CHECK(size_text(Bytes(1024)) == "1 KiB");
  CHECK(size_text(Bytes(1025)) == "1025 B");
  CHECK(size_text(Bytes(3 << 20)) == "3 MiB");
  CHECK(size_text(Bytes(std::int64_t{5} << 30)) == "5 GiB");
  CHECK(size_text(Bytes(std::int64_t{7} << 40)) == "7 TiB");
  CHECK(size_text(Bytes(std::int64_t{1} << 50)) == "1024 TiB");  // no larger unit
}

TEST_CASE(
    "size text: rounded to three digits, or four near 1000 and above, in the largest unit it "
    "fills") {
  CHECK(rounded_size_text(Bytes(0)) == "0 B");
  CHECK(rounded_size_text(Bytes(1023)) == "1023 B");
  CHECK(rounded_size_text(Bytes(1025)) == "1 KiB");
  CHECK(rounded_size_text(Bytes(1020 << 10)) == "1020 KiB");
  CHECK(rounded_size_text(Bytes(1'023'700)) == "999.7 KiB");
  CHECK(rounded_size_text(Bytes(25'557'032)) == "24.4 MiB");
  CHECK(rounded_size_text(Bytes(std::int64_t{1536} << 20)) == "1.5 GiB");
  CHECK(rounded_size_text(Bytes(std::int64_t{7} << 40)) == "7 TiB");
}
