#include "scheme_of_job.hpp"

#include <variant>

#include "ddpsim/sim/ddp/scheme_notes.hpp"
#include "reducer_schemes.hpp"
#include "schemes.hpp"

namespace ddpsim {

SchemeRules scheme_rules(const Job& job) {
  return std::visit([](const auto& scheme) { return rules_of(scheme); }, job.options().scheme);
}

std::string changed_numerics(const Job& job) {
  return scheme_rules(job).changed_numerics(job);
}

std::vector<std::string> rests_on(const Job& job) {
  return scheme_rules(job).rests_on(job);
}

}  // namespace ddpsim
