"""The parts of ddpsim a sample is spread over: what a user would call one thing, and how much of a sample it gets.

Parts whose figures a user decides on weigh three, the rules that make a step two, the rest one. The first pattern that
fits a file decides. `real` is not here: its tests need other machines, and none of them is in ddpsim_tests."""

import fnmatch

# name, weight, patterns of files
PARTS = [
    ("buckets", 2, ["sim/*/bucket.*", "sim/*/bucket_assignment.*", "sim/*/ddp_options.*", "sim/*/versions.*"]),
    (
        "step",
        2,
        [
            "sim/*/reducer.*",
            "sim/*/execute.*",
            "sim/*/steady_state.*",
            "sim/*/recording.*",
            "sim/*/simulate.*",
            "sim/*/cannot_simulate.*",
            "sim/*/planned_step.*",
            "sim/*/schedule.*",
            "sim/*/task.*",
            "sim/*/kernel_costs.*",
            "sim/*/workload.*",
            "sim/*/simulation_options.*",
            "sim/*/rank_progress.*",
            "sim/*/operations.*",
            "sim/*/rank_classes.*",
            "sim/*/job.*",
            "sim/*/memory_load.*",
            "sim/*/step_plan.*",
            "sim/*/rank_streams.*",
            "sim/*/finalize_backward.*",
        ],
    ),
    ("ranks", 2, ["sim/*/rank_variation.*", "sim/*/rank_slowdown.*"]),
    (
        "summary",
        3,
        [
            "sim/*/summary.*",
            "sim/*/step_times.*",
            "sim/*/bucket_results.*",
            "sim/*/step_timeline.*",
            "sim/*/intervals.*",
            "sim/*/timeline.*",
            "sim/*/result.*",
        ],
    ),
    ("tune", 3, ["sim/*/tune.*", "sim/*/bucketing_search.*", "sim/*/best_partition.*"]),
    (
        "uncertainty",
        3,
        [
            "sim/*/uncertainty.*",
            "sim/*/scenarios.*",
            "sim/*/confidence.*",
            "sim/*/measure_next.*",
            "sim/*/cost_factors.*",
        ],
    ),
    # With what ranks and iterations of one job come to: percentiles, slowest step, last rank.
    ("compare", 3, ["sim/*/compare.*", "sim/*/rank_states.*", "sim/*/rank_waits.*", "sim/*/iteration_statistics.*"]),
    (
        "collectives",
        2,
        [
            "sim/nccl/*nccl*",
            "sim/*/tuning_entries.*",
            "sim/*/collective*",
            "sim/*/in_switch_tuning*",
            "sim/*/allreduce_table.*",
            "sim/*/measured_sizes.*",
        ],
    ),
    (
        "cost",
        2,
        [
            "sim/*/pipeline_*",
            "sim/*/in_switch_cost.*",
            "sim/*/path_constants.*",
            "sim/*/gloo*",
            "sim/*/correction.*",
            "sim/*/calibrated_band.*",
            "sim/*/measured_shapes.*",
            "sim/*/shape_distance.*",
            "sim/*/calibration.*",
        ],
    ),
    (
        "flow",
        2,
        [
            "sim/*/flow_*",
            "sim/*/chunk_pipeline.*",
            "sim/*/max_min.*",
            "sim/*/cost_pipeline.*",
            "sim/*/network_links.*",
            "sim/*/fabric.*",
            "sim/*/background.*",
        ],
    ),
    ("ground", 1, ["sim/*"]),
    ("topologies", 2, ["topologies/*"]),
    ("traces", 2, ["traces/*"]),
    ("calibrate", 2, ["calibrate/*", "diagnose/*"]),
    ("models", 1, ["models/*"]),
    ("formats", 1, ["formats/*"]),
    ("reports", 3, ["reports/*"]),
    ("cli", 2, ["cli/*", "jobs/*"]),
]
NAMES = [name for name, _, _ in PARTS]
WEIGHTS = {name: weight for name, weight, _ in PARTS}


def part_of(file):
    """The part of a C++ file of ours, or None."""
    if not file.endswith((".cpp", ".hpp")):
        return None
    for name, _, patterns in PARTS:
        # A star crosses folders: "sim/*/tune.*" holds for sim/tune/include/ddpsim/sim, too.
        if any(fnmatch.fnmatchcase(file, pattern) for pattern in patterns):
            return name
    return None


def shares(count, parts):
    """How many of `count` each part gets: by weight, the remainder to the largest fractions."""
    total = sum(WEIGHTS[name] for name in parts)
    exact = {name: count * WEIGHTS[name] / total for name in parts}
    whole = {name: int(exact[name]) for name in parts}
    left = count - sum(whole.values())
    for name in sorted(parts, key=lambda name: (whole[name] - exact[name], NAMES.index(name)))[:left]:
        whole[name] += 1
    return whole
