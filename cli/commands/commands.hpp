// One function per command, which declares its options and sets what to run after parsing.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace ddpsim {

// In the order of `--help`, in which users need them. The chosen command sets `action`, which returns an exit code.

void add_simulate(CLI::App& app, std::function<int()>& action);
void add_tune(CLI::App& app, std::function<int()>& action);
void add_advise(CLI::App& app, std::function<int()>& action);
void add_compare(CLI::App& app, std::function<int()>& action);
void add_sweep(CLI::App& app, std::function<int()>& action);
void add_diff(CLI::App& app, std::function<int()>& action);
void add_buckets(CLI::App& app, std::function<int()>& action);
void add_allreduce(CLI::App& app, std::function<int()>& action);
void add_topo(CLI::App& app, std::function<int()>& action);
void add_import(CLI::App& app, std::function<int()>& action);
void add_calibrate(CLI::App& app, std::function<int()>& action);
void add_validate(CLI::App& app, std::function<int()>& action);
void add_list(CLI::App& app, std::function<int()>& action);

}  // namespace ddpsim
