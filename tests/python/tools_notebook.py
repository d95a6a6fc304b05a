"""Runs examples/choose_a_cap.ipynb again, and compares its output. DDPSIM_UPDATE_GOLDEN=1 stores the new output."""

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
    # `coalesce_streams`: lines printed one by one arrive in any number of messages.
    client = nbclient.NotebookClient(
        notebook,
        timeout=patience.seconds(120),
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": NOTEBOOK.parent}},
    )
    client.execute()
    # Leaves the version of Python out.
    notebook.metadata["language_info"] = {"name": "python"}
    return notebook


def shown(cell):
    """The text of the outputs of a cell, without the bytes of pictures and the HTML of reports."""
    return [output.text if output.output_type == "stream" else output.data["text/plain"] for output in cell.outputs]


class Notebook(unittest.TestCase):
    maxDiff = None

    def test_the_output_is_what_the_notebook_shows(self):
        kept = nbformat.read(NOTEBOOK, as_version=4)
        now = executed(kept)
        if os.environ.get("DDPSIM_UPDATE_GOLDEN") == "1":
            nbformat.write(now, NOTEBOOK)
            return
        cells = [(a, b) for a, b in zip(kept.cells, now.cells) if a.cell_type == "code"]
        self.assertGreater(len(cells), 10)
        for before, after in cells:
            with self.subTest(cell=before.source):
                self.assertEqual(shown(after), shown(before), "DDPSIM_UPDATE_GOLDEN=1 stores the new output")
        data = [output.data for _, cell in cells for output in cell.outputs if output.output_type != "stream"]
        self.assertEqual(sum("image/png" in one for one in data), 3)
        self.assertTrue(any("<iframe" in one.get("text/html", "") for one in data))
