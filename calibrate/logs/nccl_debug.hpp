// What a line says about NCCL itself: its version, its settings, and its debug lines.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "raw_log.hpp"

namespace ddpsim {

/// The settings of NCCL that a line states, each once.
std::vector<std::pair<std::string, std::string>> settings_in(const Words& words);

/// Adds what else the words of one line say to `log`. Lines about other things add nothing.
void take_nccl_words(const Words& words, RawLog& log);

/// "NET/IB", "NET/Socket", "NET/OFI" …; within one node "P2P", "SHM" or "P2P and SHM". Empty if
/// unknown.
std::string transport_of(const NcclWords& said);

/// Adds a setting once. Values that are no plain word are left out.
void add_setting(RawLog& log, std::string_view name, std::string_view value);

/// The version of a code: 22602 is 2.26.2. Before 2.9 the minor version had one digit less: 2708 is
/// 2.7.8.
std::optional<NcclVersion> nccl_version_of_code(std::int64_t code);

}  // namespace ddpsim
