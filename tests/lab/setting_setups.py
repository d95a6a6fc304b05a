"""Jobs of settings.py, each made so that another setting should matter.

`wanted` tells the reader which. For jobs that also wait for input or for a rank, `costs_most` is the class that the
first line must name (tests/cli/test_first_lines.py). The classes were written down before ddpsim saw the jobs."""

import lab_workloads


def layers(count, rows, columns):
    """The parameters of linear layers in definition order."""
    return [
        entry for k in range(count) for entry in ((f"layer{k}.weight", [rows, columns]), (f"layer{k}.bias", [rows]))
    ]


def setup(
    name,
    wanted,
    parameters,
    forward_ms,
    backward_ms,
    rate,
    *,
    today=None,
    buffers=(),
    optimizer_ms=1,
    unused=(),
    costs_most=None,
    batch_ms=None,
    slow=None,
    pause_ms=0,
):
    """One set-up.

    `batch_ms`: the time of a batch in a worker of the DataLoader in `today`.
    `slow`: a rank, and the factor on its compute time.
    `pause_ms`: time that the host spends between steps.
    """
    workload = lab_workloads.workload(name, parameters, forward_ms * 1000, backward_ms * 1000)
    workload["backward"]["ready"] = [
        entry for entry in workload["backward"]["ready"] if parameters[entry["parameter"]][0] not in unused
    ]
    workload["optimizer"] = {"duration_us": optimizer_ms * 1000}
    return {
        "name": name,
        "wanted": wanted,
        "workload": workload,
        "rate": rate,
        "today": today or {},
        "buffers": list(buffers),
        "recorded_steps": 8,
        "all_reduces": [4096, 1 << 16, 1 << 20, 1 << 22],
        "costs_most": costs_most,
        "batch_ms": batch_ms,
        "slow": slow,
        "pause_ms": pause_ms,
    }


def loader(num_workers, prefetch_factor=2, **setting):
    return {
        **setting,
        "loader": {"num_workers": num_workers, **({"prefetch_factor": prefetch_factor} if num_workers else {})},
    }


def waiting_setups():
    """Jobs that wait for input, for a rank, for the host between steps, for communication, or for two of them."""
    small, large = layers(4, 128, 128), layers(8, 512, 512)
    one_bucket = {"arguments": {"bucket_cap_mb": 100}}
    return [
        setup("trainer-loads", "workers", small, 20, 40, "1gbit", today=loader(0), batch_ms=40, costs_most="input"),
        setup("one-worker", "workers", small, 20, 40, "1gbit", today=loader(1), batch_ms=110, costs_most="input"),
        setup(
            "two-workers",
            "workers",
            layers(4, 256, 256),
            15,
            30,
            "1gbit",
            today=loader(2, 4),
            batch_ms=200,
            costs_most="input",
        ),
        setup(
            "loader-keeps-up", "nothing", small, 30, 60, "1gbit", today=loader(2), batch_ms=120, costs_most="compute"
        ),
        setup(
            "loader-behind-network",
            "workers, then a hook",
            large,
            10,
            20,
            "1gbit",
            today=loader(1),
            batch_ms=240,
            costs_most="input",
        ),
        setup(
            "network-behind-loader",
            "a smaller cap",
            layers(6, 512, 512),
            10,
            60,
            "1gbit",
            today=loader(2, **one_bucket),
            batch_ms=100,
            costs_most="communication",
        ),
        setup("slow-rank", "nothing but that rank", small, 20, 40, "1gbit", slow=[1, 1.5], costs_most="ranks"),
        setup(
            "slow-rank-and-network",
            "a smaller cap",
            layers(6, 512, 512),
            10,
            60,
            "1gbit",
            today=one_bucket,
            slow=[1, 1.1],
            costs_most="communication",
        ),
        setup(
            "slow-rank-and-loader",
            "workers",
            small,
            20,
            40,
            "1gbit",
            today=loader(0),
            batch_ms=50,
            slow=[1, 1.15],
            costs_most="input",
        ),
        setup("pauses", "nothing but the pause", small, 20, 30, "1gbit", pause_ms=30, costs_most="host"),
        setup(
            "pause-and-loader",
            "workers",
            small,
            20,
            30,
            "1gbit",
            today=loader(0),
            batch_ms=45,
            pause_ms=10,
            costs_most="input",
        ),
        setup(
            "network", "a smaller cap, or a hook", large, 15, 30, "1gbit", today=one_bucket, costs_most="communication"
        ),
        setup("computes", "nothing", small, 30, 60, "1gbit", costs_most="compute"),
    ]


def all_setups():
    find_unused = {"arguments": {"find_unused_parameters": True}}
    made = [
        setup("communication-bound", "a 16-bit hook", layers(8, 512, 512), 15, 30, "1gbit"),
        setup("slow-link", "PowerSGD", layers(3, 288, 288), 5, 15, "200mbit"),
        setup("large-buffers", "broadcast_buffers=False", layers(2, 512, 512), 20, 40, "1gbit", buffers=[1 << 17] * 6),
        setup("many-buffers", "broadcast_buffers=False", layers(8, 256, 256), 15, 30, "1gbit", buffers=[512] * 240),
        setup(
            "one-bucket",
            "a smaller cap",
            layers(6, 512, 512),
            10,
            60,
            "1gbit",
            today={"arguments": {"bucket_cap_mb": 100}},
        ),
        setup(
            "small-buckets",
            "a larger cap",
            [(f"weight{k}", [128, 128]) for k in range(40)],
            10,
            20,
            "1gbit",
            today={"arguments": {"bucket_cap_mb": 0.05}},
        ),
        setup("default-tail", "a smaller cap, or a list", layers(10, 512, 512), 10, 95, "1gbit"),
        setup(
            "uneven-layers",
            "a list of caps",
            layers(4, 128, 128) + layers(2, 768, 768) + layers(6, 256, 256) + layers(2, 512, 512),
            10,
            70,
            "1gbit",
        ),
        setup(
            "copies",
            "gradient_as_bucket_view",
            layers(8, 1024, 1024),
            5,
            10,
            "4gbit",
            today={"arguments": {"bucket_cap_mb": 100}},
        ),
        setup("compute-bound", "nothing", layers(4, 128, 128), 30, 60, "1gbit"),
        setup(
            "search-unused",
            "find_unused_parameters=False",
            [(f"weight{k}", [64, 64]) for k in range(60)],
            5,
            15,
            "1gbit",
            today=find_unused,
        ),
        setup(
            "unused",
            "a smaller cap",
            layers(8, 512, 512),
            20,
            80,
            "1gbit",
            today={"arguments": {"find_unused_parameters": True, "bucket_cap_mb": 100}},
            unused=("layer3.weight",),
        ),
        setup(
            "several", "buffers, a hook and views together", layers(8, 512, 512), 15, 40, "1gbit", buffers=[1 << 17] * 2
        ),
        setup("accumulating", "a 16-bit hook", layers(8, 512, 512), 10, 20, "1gbit", today={"accumulate": 2}),
        setup("bert-like", "no tail: an embedding comes last", lab_workloads.bert_parameters(), 50, 120, "2gbit"),
        setup("resnet-like", "a smaller cap", lab_workloads.resnet_parameters(), 60, 150, "2gbit"),
        *waiting_setups(),
    ]
    return {one["name"]: one for one in made}
