"""FSDP jobs drawn from a seed: a workload, a cluster and --scheme for ddpsim, and a job file for the driver
(fsdp/job.hpp)."""

import dataclasses
import random

import random_jobs
from random_jobs import us

SIZES = {"fp32": 4, "bf16": 2, "fp16": 2}
ELEMENTS = (1, 7, 1000, 4000, 20_000, 60_000)
FORWARD_SHARE = 0.5  # forward as a share of backward
HOOK_US = 100  # host_unit_hook, of DdpCosts
COPY_US = 8  # host_hook_kernel
# Enough launches of forward that each part of it has some.
EVERYWHERE = 100_000


@dataclasses.dataclass
class Unit:
    name: str
    parameters: list  # Pairs (elements, us of backward), in backward's order.

    def forward_us(self):
        return FORWARD_SHARE * sum(us for _, us in self.parameters)


@dataclasses.dataclass
class Job:
    seed: int
    scheme: str
    options: dict
    # In forward order; "root" may be first or last.
    units: list
    ranks: int
    group: int
    micro_batches: int
    optimizer_us: float
    collective_us: float
    cluster: dict

    def __str__(self):
        return f"{self.scheme}:{self.options}, {self.ranks} ranks, {[unit.name for unit in self.units]}"

    def dtype(self, key, otherwise):
        return self.options.get(key, otherwise)

    def parameters(self):
        """Names and units, in the order in which backward writes gradients."""
        for unit in reversed(self.units):
            for k, (elements, duration) in enumerate(unit.parameters):
                name = {"first": "embed", "last": "head"}.get(unit.name, f"{unit.name}.linear")
                yield f"{name}.p{k}", elements, duration

    def workload(self):
        named = list(self.parameters())
        at, ready = 0, []
        for k, (_, _, duration) in enumerate(named):
            at = round(at + duration, 3)
            ready.append({"parameter": len(named) - 1 - k, "at_us": at})
        host = {
            "launches": {"forward": EVERYWHERE, "backward": [1] * len(named), "optimizer": 1},
            "launch_cost": {"forward_us": 0, "backward_us": 0, "optimizer_us": 0},
            "steps_ahead": 1,
            "costs": {
                "hook_us": 0,
                "copy_us": 0,
                "comm_hook_us": 0,
                "collective_us": self.collective_us,
                "search_us": 0,
            },
        }
        return {
            "schema": "ddpsim.workload/1",
            "name": "random",
            "gpu": "V100",
            "torch": "2.13",
            "parameters": [
                {"name": name, "shape": [elements], "dtype": "float32"} for name, elements, _ in reversed(named)
            ],
            "forward": {"duration_us": FORWARD_SHARE * at},
            "backward": {"duration_us": at, "ready": ready},
            "optimizer": {"duration_us": self.optimizer_us},
            "host": host,
        }

    def scheme_words(self):
        words = dict(self.options, wrap="layers.*")
        if self.group != self.ranks and self.scheme != "replicate":
            words["group"] = self.group
        return f"{self.scheme}:" + ",".join(f"{key}={value}" for key, value in words.items())

    def padded_share(self, unit_elements):
        return -(-unit_elements // self.group)

    def offloads(self):
        return self.options.get("cpu_offload") == "true"

    def stepped_bytes(self):
        """Bytes of the fp32 parameters that rank 0 steps."""
        return 4 * self.shard_elements()

    def shard_elements(self):
        if self.scheme != "fsdp1":
            return sum(self.padded_share(elements) for _, elements, _ in self.parameters())
        by_unit = {}
        for unit in self.units:
            name = "root" if unit.name in ("first", "last") else unit.name
            by_unit[name] = by_unit.get(name, 0) + sum(elements for elements, _ in unit.parameters)
        return sum(self.padded_share(elements) for elements in by_unit.values())

    def stepped(self):
        """The share of the parameters that one rank steps."""
        whole = sum(elements for _, elements, _ in self.parameters())
        if self.options.get("strategy") == "no_shard":
            return 1
        return min(1, self.shard_elements() / whole)

    def host_us(self, collectives):
        """Host time of a step: hooks before forward and backward, FSDP1's hooks after backward, and launches."""
        units = len({"root" if unit.name in ("first", "last") else unit.name for unit in self.units})
        if self.offloads():
            collectives_us = collectives * self.collective_us
            copies = len(list(self.parameters())) if self.scheme == "fsdp2" else units
            collectives_us += 3 * copies * self.micro_batches * COPY_US
            return units * 3 * self.micro_batches * HOOK_US + collectives_us
        hooks = units * (3 if self.scheme == "fsdp1" else 2) * self.micro_batches
        casts = 2 if self.dtype("param_dtype", "fp32") != "fp32" else 1
        copies = casts * len(list(self.parameters())) * self.micro_batches if self.scheme == "replicate" else 0
        return hooks * HOOK_US + collectives * self.collective_us + copies * COPY_US

    def driver_lines(self, steps):
        keys = {
            "scheme": "fsdp2" if self.scheme == "replicate" else self.scheme,
            "ranks": self.ranks,
            "group": self.group,
            "steps": steps,
            "steps_ahead": 1,
            "micro_batches": self.micro_batches,
            "hook_us": HOOK_US,
            "wake_us": self.cluster["gpu_costs"]["event_latency_us"],
            "collective_us": self.collective_us,
            "optimizer_us": self.optimizer_us * self.stepped(),
        }
        for key, value in self.options.items():
            keys[key] = {"true": 1, "false": 0}.get(value, value)
        if self.scheme == "replicate":
            keys |= {"copy_us": COPY_US, "reshard_after_forward": 0, "reshard_root": 0}
        if self.offloads():
            rate = keys.pop("cpu_rate")
            keys.pop("pcie")
            keys |= {
                "copy_us": COPY_US,
                "add_ns_per_byte": 3 / rate,
                "optimizer_us": 3 * self.stepped_bytes() / rate / 1e3,
            }
        if "reduce_dtype" not in keys:
            keys["reduce_dtype"] = keys.get("param_dtype", "fp32")
        lines = [f"{key} {value}" for key, value in keys.items()]
        for unit in self.units:
            lines.append(f"unit {'root' if unit.name in ('first', 'last') else unit.name} {unit.forward_us()}")
            lines += [f"param {elements} {duration}" for elements, duration in unit.parameters]
        return "\n".join(lines) + "\n"


def units(draw):
    """Draws one to eight units. The first and the last may be the root's."""

    def unit(name):
        parameters = [
            (draw.choice(ELEMENTS) + draw.randrange(50), 2 * draw.choice((10, 45, 200, 800)))
            for _ in range(draw.choice((1, 1, 2, 3)))
        ]
        return Unit(name, parameters)

    found = [unit(f"layers.{i}") for i in range(draw.randrange(1, 9))]
    if draw.random() < 0.7:
        found.insert(0, unit("first"))
    if draw.random() < 0.7:
        found.append(unit("last"))
    return found


def dtypes(draw):
    chosen = draw.choice(((), (), ("bf16",), ("bf16", "fp32"), ("fp16", "fp32"), (None, "bf16")))
    options = {}
    if chosen and chosen[0]:
        options["param_dtype"] = chosen[0]
    if len(chosen) == 2:
        options["reduce_dtype"] = chosen[1]
    return options


def cluster(draw, nodes, gpus):
    drawn = random_jobs.cluster(draw, gpus)
    drawn["nodes"] = nodes
    if nodes > 1:
        drawn["network"] = {"kind": "ib", "nics_per_node": gpus, "per_nic": "100Gbps"}
    return drawn


def job(seed, scheme, offload=False):
    draw = random.Random(seed)
    nodes, gpus = draw.choice(((1, 2), (1, 3), (1, 4), (1, 8), (2, 2), (2, 4)))
    hybrid = nodes > 1
    options = {}
    if scheme == "fsdp1":
        options["strategy"] = draw.choice(
            ("hybrid_shard", "hybrid_shard_zero2")
            if hybrid
            else ("full_shard", "full_shard", "full_shard", "shard_grad_op", "no_shard")
        )
        options["backward_prefetch"] = draw.choice(("pre", "pre", "post", "none"))
        options["forward_prefetch"] = draw.choice(("false", "false", "true"))
        options["limit_all_gathers"] = draw.choice(("true", "true", "false"))
    elif scheme == "fsdp2":
        options["reshard_after_forward"] = draw.choice(("true", "true", "false"))
        options["reshard_root"] = draw.choice(("false", "false", "true"))
    micro_batches = draw.choice((1, 1, 1, 2, 3))
    if offload and options.get("strategy") == "no_shard":
        options["strategy"] = "full_shard"
    if options.get("strategy") != "no_shard":
        options.update(dtypes(draw))
    if micro_batches > 1:
        options["no_sync"] = draw.choice(("true", "false"))
        if offload and scheme == "fsdp1":
            options["no_sync"] = "true"
        if scheme != "fsdp1" and options["no_sync"] == "true" and "reduce_dtype" in options:
            del options["reduce_dtype"]  # the driver cannot accumulate in another type
    drawn = Job(
        seed=seed,
        scheme=scheme,
        options=options,
        units=units(draw),
        ranks=nodes * gpus,
        group=1 if scheme == "replicate" else gpus if hybrid else nodes * gpus,
        micro_batches=micro_batches,
        optimizer_us=draw.randrange(50, 900),
        collective_us=us(draw, 20, 60),
        cluster=cluster(draw, nodes, gpus),
    )
    # On the simulated GPU, a copy reads and also writes the bytes that it sends over PCIe.
    if offload:
        options |= {
            "cpu_offload": "true",
            "pcie": drawn.cluster["gpu_costs"]["copy_gbps"] / 2,
            "cpu_rate": draw.randrange(1, 40),
        }
    return drawn
