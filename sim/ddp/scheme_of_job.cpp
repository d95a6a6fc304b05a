#include "scheme_of_job.hpp"

#include <variant>

#include "ddpsim/sim/ddp/changed_numerics.hpp"
#include "reducer_schemes.hpp"
#include "schemes.hpp"

namespace ddpsim {

SchemeRules scheme_rules(const Job& job) {
  return std::visit([](const auto& scheme) { return rules_of(scheme); }, job.options().scheme);
}

std::string changed_numerics(const Job& job) {
  return scheme_rules(job).changed_numerics(job);
}

}  // namespace ddpsim
