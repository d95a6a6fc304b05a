"""Networks between nodes: a rate, a number of ports and a kind, in the words of a cluster line."""

import re

# Generations of InfiniBand, Omni-Path and Slingshot: a port of four lanes, in Gb/s.
GENERATIONS = """XDR 800, NDR 400, NDR400 400, NDR200 200, HDR 200, HDR100 100, EDR 100, FDR 56, QDR 40, Omni-Path 100,
    OmniPath 100, OPA 100, Slingshot-11 200, Slingshot 11 200, Slingshot-10 100, ConnectX-8 800, ConnectX-7 400, CX-7
    400, CX7 400, ConnectX-6 200, CX-6 200, CX6 200, ConnectX-5 100, CX-5 100, CX5 100, gigabit Ethernet 1, 1 GigE 1,
    GigE 1, 1GbE 1"""
GENERATIONS = {name: float(rate) for name, rate in (one.strip().rsplit(" ", 1) for one in GENERATIONS.split(","))}
KINDS = (
    ("tcp", r"\btcp\b"),
    ("roce", r"roce"),
    ("efa", r"\befa\b"),
    ("slingshot", r"slingshot"),
    (
        "tcp",
        r"ethernet|gige\b|\d+ ?gb?e\b|gigabit|ipoib|\bvpc\b|\baws p[23]\.|\bena\b|socket|slowest link|lowest link"
        r"|gvnic",
    ),
    ("ib", r"infiniband|\bib\b|[hnefqx]dr\d*\b|rdma|mellanox|connectx|\bcx-?\d"),
)
ONE = {"one": "1", "two": "2", "three": "3", "four": "4", "six": "6", "eight": "8", "single": "1", "dual": "2"}
RATE = r"(\d+(?:\.\d+)?)(?:-\d+(?:\.\d+)?)? ?(?:(G|T)(?:b|bit|bits)?(?:/s|ps|E\b)|(G)b(?:it)?\b|(G)(?=[ ,;)]|$)(?! ?B))"
BYTES = r"(\d+(?:\.\d+)?) ?GB(?:/s|ps)"
COUNT = r"(\d+|one|two|three|four|six|eight|single|dual)"
PORTS = COUNT + r" (?:[\w-]+ ){0,2}(?:NIC|port|HCA|adapter|rail|card)s?\b"
AFTER = r"(?<!\w)[x×] ?(\d+)\b"  # "HDR x8"
SHORT = r"(\d+) ?[x×] ?(\d{2,3})(?![\w.])"  # "NDR 8x400"
PER_GPU = r"\bper[- ]GPU|/ ?GPU|for each GPU|a GPU\b|each GPU"


def kind_of(text):
    """ib, roce, efa, slingshot or tcp; "" if the text names none."""
    lower = text.lower()
    if "infiniband" in lower and "tcp" not in lower and "ipoib" not in lower and "disabled" not in lower:
        return "ib"
    return next((kind for kind, pattern in KINDS if re.search(pattern, lower)), "")


def between(text):
    """The part of a description that is about links between nodes: rates of NVLink are none."""
    text = re.sub(r"(nvlink|nvswitch)[^;,()]*\([^)]*\)", "", text, flags=re.IGNORECASE)
    inside, rated = re.compile(r"nvlink|nvswitch|pcie", re.IGNORECASE), re.compile(r"[GT]b(?:it)?(?:/s|ps)")
    parts = re.split(r"[;,()]| in node\b", text)
    return " ; ".join(part for part in parts if not inside.search(part) or rated.search(part))


def ports_of(text, per_node):
    """Ports of a node, the rate of each and the kind; None if the text has no rate."""
    part, kind = between(text), kind_of(text)
    rate, short = re.search(RATE, part), re.search(SHORT, part)
    if short and not rate:
        return f"{short.group(1)}x{short.group(2)}Gbps:{kind}"
    if rate:
        whole = float(rate.group(1)) * (1000 if rate.group(2) == "T" else 1)
    else:
        named = [
            name
            for name in GENERATIONS
            if re.search(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", part, re.IGNORECASE)
        ]
        in_bytes = re.search(BYTES, part)
        if named:
            name = max(named, key=len)
            whole, rate = float(GENERATIONS[name]), re.search(re.escape(name), part, re.IGNORECASE)
        elif in_bytes:
            whole, rate = float(in_bytes.group(1)) * 8, in_bytes
        else:
            return None
    if re.search(PER_GPU, part, re.IGNORECASE):
        return f"{per_node}x{whole:g}Gbps:{kind}"
    count = counted(part, rate)
    if count:
        return f"{count}x{whole:g}Gbps:{kind}"
    # The rate of all ports of a node, such as 1600 Gb/s: each GPU has one.
    if whole >= 800 and per_node > 1:
        return f"{per_node}x{whole / per_node:g}Gbps:{kind}"
    return f"1x{whole:g}Gbps:{kind}"


def counted(part, rate):
    """The number of ports: in front of the rate, of a generation, or of a word for ports, or behind a generation."""
    names = "|".join(sorted(map(re.escape, GENERATIONS), key=len, reverse=True))
    generation = re.search(rf"(?<![A-Za-z0-9])(?:{names})(?![A-Za-z0-9])", part, re.IGNORECASE)
    found = re.search(COUNT + r" ?(?:x|×|\*) ?$|" + COUNT + r" $", part[: rate.start()], re.IGNORECASE)
    if generation and not found:
        before = part[: generation.start()]
        found = re.search(r"(?<![\d.])" + COUNT + r" ?(?:x|×|\*)? ?$", before, re.IGNORECASE)
    found = found or re.search(PORTS, part, re.IGNORECASE) or re.search(AFTER, part)
    text = next((group for group in found.groups() if group), None) if found else None
    return ONE.get(text.lower(), text) if text else None
