#include "cause_words.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "ddpsim/diagnose/evidence/finding.hpp"

using namespace ddpsim;

TEST_CASE("cause words: a sentence for every class") {
  for (const CauseClass what : cause_classes()) {
    std::string name(name_of(what));
    const std::string words = cause_words(what, StepChange::longer);
    CAPTURE(words);
    std::ranges::replace(name, '_', ' ');
    CHECK(words != name);
  }
  CHECK(cause_words(CauseClass::network_slower, StepChange::longer) == "The network is slower");
  CHECK(cause_words(CauseClass::network_slower, StepChange::shorter) == "The network is faster");
  CHECK(cause_words(CauseClass::data_loading, StepChange::shorter) == "Batches come sooner");
  CHECK(cause_words(CauseClass::kernels_changed, StepChange::shorter) == "The kernels changed");
}
