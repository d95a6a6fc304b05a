// A long run whose nodes fail, as a part of a document.
#pragma once

#include "ddpsim/formats/described.hpp"
#include "ddpsim/sim/elastic/elastic.hpp"

namespace ddpsim {

const Described<ElasticAnswer>& described_elastic();

}  // namespace ddpsim
