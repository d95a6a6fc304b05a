#include "cause_words.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "ddpsim/diagnose/evidence/finding.hpp"

using namespace ddpsim;

TEST_CASE("cause words: a sentence for every class of finding, the words of a name for others") {
  for (const FindingClass what : finding_classes()) {
    std::string name(name_of(what));
    const std::string words = cause_words(name, StepChange::longer);
    CAPTURE(words);
    std::ranges::replace(name, '_', ' ');
    CHECK(words != name);
  }
  CHECK(cause_words("network_slower", StepChange::longer) == "The network is slower");
  CHECK(cause_words("network_slower", StepChange::shorter) == "The network is faster");
  CHECK(cause_words("data_loading", StepChange::shorter) == "Batches come sooner");
  CHECK(cause_words("kernels_changed", StepChange::shorter) == "Other kernels run");
  CHECK(cause_words("something_new", StepChange::longer) == "something new");
}
