"""What the script behind a published figure passes where its row leaves it open: rows name a repository or a page, and what
stands there can be read. One entry a script, with the file that says so; none is learned from a figure."""

import dataclasses
import re


@dataclasses.dataclass(frozen=True)
class Script:
    source: str  # as rows have it
    page: str  # a pattern in their source_ref
    model: str  # a pattern
    read_in: str  # the file of the repository that says so
    sequence: "int | None" = None  # tokens of a sample, where all have as many
    precision: "str | None" = None  # as an estimate has it
    sharded_precision: "str | None" = (
        None  # of FSDP, where what the row says of its page's table does not hold for that
    )
    bf16_parameters: bool = False  # they are loaded in bfloat16, and no others kept
    accumulation: int = 1
    checkpointing: str = "none"
    zero_options: tuple = ()  # (stage, {option: value})
    links: "str | None" = None  # what joins a pair of GPUs, as a line has it


SCRIPTS = (
    # training_scripts/single_node/run_FT.sh of May 2023, and dschat_train_v1/README.md: full fine-tuning by DeepSpeed-Chat's
    # main.py, --gradient_accumulation_steps 4 --gradient_checkpointing, no --offload (it asserts so), each sample padded to
    # --max_seq_len; DeepSpeed's configuration is get_train_ds_config of DeepSpeed-Chat's utils/ds_utils.py. main.py counts the
    # loader's batches (tqdm, unit="batch"), which are micro-batches.
    Script(
        "LianjiaTech/BELLE",
        "#402",
        "BLOOM",
        "train/training_scripts/single_node/run_FT.sh",
        precision="amp",
        accumulation=4,
        checkpointing="full",
        zero_options=(
            (
                3,
                {
                    "stage3_param_persistence_threshold": 10000,
                    "stage3_max_live_parameters": 30000000,
                    "stage3_prefetch_bucket_size": 30000000,
                },
            ),
        ),
    ),
    # --block_size 2048 --bf16 --torch_dtype bfloat16; ds_config.json.
    Script(
        "whyNLP/tinyllama",
        "",
        "TinyLlama",
        "run_clm.sh",
        sequence=2048,
        precision="bf16",
        bf16_parameters=True,
        zero_options=(
            (2, {"overlap_comm": "true", "reduce_bucket_size": 200000000, "allgather_bucket_size": 200000000}),
        ),
    ),
    Script("allenai/OLMo", "", "OLMo 1B", "configs/official/OLMo-1B.yaml", sequence=2048, precision="bf16"),
    # The page's command ends in "--block_size 12", cut short: with 12 tokens several times the batches said to be the largest
    # would fit, and the default of 1024 needs 97 GiB for the first of them. The same author's next page, with the same script,
    # has 128 (accelerate-deepspeed.md), at which each of the page's batches is predicted to fit into 24 GB, and at 256 one of
    # them. FSDP's configuration is printed there: mixed_precision 'no', which "currently has few issues" under FSDP. Two such
    # cards of theirs, by the documentation of transformers (perf_train_gpu_many): "2x TITAN RTX 24GB each + NVlink with 2
    # NVLinks".
    Script(
        "huggingface/blog",
        "pytorch-fsdp",
        "GPT-2",
        "pytorch-fsdp.md",
        sequence=128,
        sharded_precision="fp32",
        links="nvlink:2x25GBps",
    ),
    Script(
        "huggingface/blog",
        "accelerate-deepspeed",
        "GPT-XL",
        "accelerate-deepspeed.md",
        sequence=128,
        links="nvlink:2x25GBps",
    ),
)

SILENT = Script("", "", "", "")


def script_of(row):
    """The script a row was made with, or one that passes nothing."""
    for script in SCRIPTS:
        if (
            row["source"] == script.source
            and re.search(script.page, row["source_ref"])
            and re.search(script.model, row["model"])
        ):
            return script
    return SILENT
