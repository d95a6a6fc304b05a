"""Trainings of models with frozen parameters (requires_grad=False), in the format of scheme_trainings.py.

main(FOLDER, RANK, RANKS, EVERY)
"""

from scheme_trainings import AT_LAST, MIXED, train_all

# Nothing before these trains, so backward does not reach them.
BACKBONE = "embedding+layers.0+layers.1"
# Backward passes through these.
WITHIN = "layers.1+layers.2"
BODY = "embedding+layers.0+layers.1+layers.2+layers.3"
# A part of each unit is frozen, as with adapters.
INSIDE = "layers.0.up+layers.1.up+layers.2.up+layers.3.up"
UNITS = "layers.0+layers.1"  # after an embedding that trains


def cases_of_fsdp1(ranks):
    """The cases of FSDP1. All parameters of a unit train or none, unless use_orig_params is set.

    The root has the embedding, the norm and the head.
    """
    for strategy in ("full_shard", "shard_grad_op"):
        for frozen in (WITHIN, UNITS):
            yield "numbered", {"strategy": strategy, "frozen": frozen}
        for frozen in (BACKBONE, BODY, INSIDE):
            yield "numbered", {"strategy": strategy, "use_orig_params": True, "frozen": frozen}
        yield "numbered", {"strategy": strategy, "frozen": WITHIN, **AT_LAST}
    if ranks == 2:
        for options in (
            MIXED,
            {"backward_prefetch": "post"},
            {"backward_prefetch": "none"},
            {"forward_prefetch": True},
        ):
            yield "numbered", {"strategy": "full_shard", "frozen": WITHIN, **options}
        yield "numbered", {"strategy": "no_shard", "frozen": WITHIN}
        yield "nested", {"strategy": "full_shard", "frozen": "stages.1"}
        yield "nested", {"strategy": "full_shard", "frozen": "stages.0+stages.2"}


def cases_of_fsdp2(ranks):
    for frozen in (BACKBONE, WITHIN, BODY, INSIDE, UNITS):
        yield "numbered", {"frozen": frozen}
        if ranks == 2:
            yield "numbered", {"reshard_after_forward": False, "frozen": frozen}
            yield "numbered", {"frozen": frozen, **AT_LAST}
    if ranks == 2:
        yield "numbered", {"frozen": BACKBONE, **MIXED}
        yield "numbered", {"frozen": WITHIN, "wrap": "none"}
        yield "nested", {"frozen": "stages.1"}
        yield "nested", {"frozen": "stem+stages.0+stages.2"}


def main(*arguments):
    train_all({"fsdp1": cases_of_fsdp1, "fsdp2": cases_of_fsdp2}, *arguments)
