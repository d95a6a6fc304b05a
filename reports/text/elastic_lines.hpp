// A long run whose nodes fail, in words.
#pragma once

#include <string>

#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// Goodput, how often something failed, and the best checkpoint interval compared with Young's and
/// Daly's.
std::string elastic_verdict(const ElasticAnswer& elastic, const TerminalStyle& style);
/// Where the time of a run goes.
std::string elastic_table(const ElasticAnswer& elastic, const TerminalStyle& style);
/// What restarts take, and which values are assumed.
std::string elastic_lines(const ElasticAnswer& elastic, const TerminalStyle& style);
/// Goodput, checkpoint interval and ends of the job for one of several candidates, in one
/// paragraph.
std::string elastic_line(const ElasticAnswer& elastic, const std::string& label,
                         const TerminalStyle& style);

}  // namespace ddpsim
