// --interactive: the page with the simulator inside, and what it starts from.
#pragma once

#include <optional>

#include "job_arguments.hpp"
#include "terminal.hpp"
#include "typed_line.hpp"

namespace ddpsim {

/// The page, and what was typed in a form that needs nothing of this machine: the workload as it was read, other files as
/// they lie, each by its last name; absent where nobody asks for it. The page is what the environment's DDPSIM_HTML names, else
/// ddpsim.html beside the program or in ../share/ddpsim. Throws UsageError and InputError.
std::optional<InteractivePage> interactive_page(const OutputArguments& output,
                                                const JobArguments& arguments,
                                                const TypedLine& typed);

}  // namespace ddpsim
