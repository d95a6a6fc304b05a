"""Makes the simulated GPU's table (settings.hpp) from the files that ddpsim gets.

Launch times come from the workload's host. Copies and latencies come from the cluster's GPU, and all-reduces from its
calibration."""

NS = 1000
CLOCK_NS = 1


def ns(us):
    return round(us * NS)


def table(cluster, workload, all_reduce_us):
    """`all_reduce_us` gives the times of the cluster by bytes. All launches take the same host time, and no graph is
    searched."""
    gpu, host = cluster["gpu_costs"], workload["host"]
    costs = host["costs"]
    launch = costs["copy_us"]
    if {costs["hook_us"], *host["launch_cost"].values()} != {launch} or costs["search_us"] != 0:
        raise ValueError(f"no host of the simulated machine: {host}")
    if host["steps_ahead"] != 1:
        raise ValueError("ddpsim-real is a step ahead, and no further")
    kernel = ns(gpu["copy_us"]) + ns(gpu["gap_us"])
    rows = {
        "launch_ns": ns(launch),
        "collective_launch_ns": ns(costs["collective_us"]),
        "event_ns": 0,
        "call_ns": 0,
        "clock_ns": CLOCK_NS,
        "kernel_ns": kernel,
        "copy_bytes_per_ns": gpu["copy_gbps"],
        "launch_latency_ns": ns(gpu["launch_latency_us"]),
        "event_latency_ns": ns(gpu["event_latency_us"]),
        # sim's round trip takes the launch and the latency of a collective. Meanwhile the map comes back and a copy is
        # launched.
        "wake_ns": ns(costs["collective_us"]) - kernel - ns(launch),
    }
    lines = [f"{key} {value}" for key, value in rows.items()]
    lines += [f"all_reduce {size} {ns(us)}" for size, us in sorted(all_reduce_us.items())]
    return "\n".join(lines) + "\n"
