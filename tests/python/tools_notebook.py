"""examples/choose_a_cap.ipynb, as committed: run anew it prints what it shows. DDPSIM_UPDATE_GOLDEN=1 keeps what it does now."""

import copy
import os
import pathlib
import sys
import unittest

import nbclient
import nbformat

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cli"))
import patience  # noqa: E402

NOTEBOOK = ROOT / "examples" / "choose_a_cap.ipynb"


def executed(notebook):
    notebook = copy.deepcopy(notebook)
    # Lines printed one by one may come in any number of messages.
    client = nbclient.NotebookClient(
        notebook,
        timeout=patience.seconds(120),
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": NOTEBOOK.parent}},
    )
    client.execute()
    notebook.metadata["language_info"] = {"name": "python"}  # not which Python it was
    return notebook


def shown(cell):
    """The text of its outputs, without what a picture's bytes or the report's page are."""
    return [output.text if output.output_type == "stream" else output.data["text/plain"] for output in cell.outputs]


class Notebook(unittest.TestCase):
    maxDiff = None

    def test_prints_what_it_shows(self):
        kept = nbformat.read(NOTEBOOK, as_version=4)
        now = executed(kept)
        if os.environ.get("DDPSIM_UPDATE_GOLDEN") == "1":
            nbformat.write(now, NOTEBOOK)
            return
        cells = [(a, b) for a, b in zip(kept.cells, now.cells) if a.cell_type == "code"]
        self.assertGreater(len(cells), 10)
        for before, after in cells:
            with self.subTest(cell=before.source):
                self.assertEqual(shown(after), shown(before), "DDPSIM_UPDATE_GOLDEN=1 keeps what it is now")
        data = [output.data for _, cell in cells for output in cell.outputs if output.output_type != "stream"]
        self.assertEqual(sum("image/png" in one for one in data), 3)
        self.assertTrue(any("<iframe" in one.get("text/html", "") for one in data))
