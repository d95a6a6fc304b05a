"""An answer in Jupyter: the report's page in a frame of its own, which runs its script, hands out its tables as files, and nothing else."""

from __future__ import annotations

import html

_HEIGHT_PX = 720


def shown_text(text: str) -> str:
    return f"<pre>{html.escape(text)}</pre>"


def shown_page(verdict: str, command: str, page: str) -> str:
    """The verdict as text, for viewers that take frames out, and the page: verdict, curve, timeline."""
    return f"<p>{html.escape(verdict)}</p>\n{_frame(command, page)}"


class Workbench:
    """A page with the simulator inside: `page` is all of it, one file."""

    def __init__(self, command: str, page: str) -> None:
        self.command = command
        self.page = page

    def _repr_html_(self) -> str:
        return _frame(self.command, self.page)


def _frame(title: str, page: str) -> str:
    return (
        f'<iframe title="{html.escape(title, quote=True)}" sandbox="allow-scripts allow-downloads" '
        f'style="width:100%;height:{_HEIGHT_PX}px;border:1px solid #8884" srcdoc="{html.escape(page, quote=True)}"></iframe>'
    )
