// What a line says of NCCL itself: its version, its settings, and its debug lines.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "raw_log.hpp"

namespace ddpsim {

/// What a line says that NCCL's settings are, each once.
std::vector<std::pair<std::string, std::string>> settings_in(const Words& words);

/// Adds what else the words of one line say to `log`. Lines about other things say nothing.
void take_nccl_words(const Words& words, RawLog& log);

/// "NET/IB", "NET/Socket", "NET/OFI" …; inside one node "P2P", "SHM" or "P2P and SHM"; or empty.
std::string transport_of(const NcclWords& said);

/// A setting once; values that are no plain word are left out.
void add_setting(RawLog& log, std::string_view name, std::string_view value);

/// 22602 is 2.26.2; before 2.9 the minor version had one digit less: 2708 is 2.7.8.
std::optional<NcclVersion> nccl_version_of_code(std::int64_t code);

}  // namespace ddpsim
