// A long run whose nodes fail, in words.
#pragma once

#include <string>

#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// Goodput, how often something failed, the best checkpoint interval beside Young's and Daly's.
std::string elastic_verdict(const ElasticAnswer& elastic, const TerminalStyle& style);
/// Where a run's time goes.
std::string elastic_table(const ElasticAnswer& elastic, const TerminalStyle& style);
/// What a restart takes, what is assumed.
std::string elastic_lines(const ElasticAnswer& elastic, const TerminalStyle& style);
/// One line, of one candidate of several.
std::string elastic_line(const ElasticAnswer& elastic, const std::string& label,
                         const TerminalStyle& style);

}  // namespace ddpsim
