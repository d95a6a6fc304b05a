"""Shows an answer in Jupyter: the page of its report in a sandboxed frame, which may run scripts and download its
tables only."""

from __future__ import annotations

import html

_HEIGHT_PX = 720


def shown_text(text: str) -> str:
    return f"<pre>{html.escape(text)}</pre>"


def shown_page(verdict: str, command: str, page: str) -> str:
    """The page in a frame, below the verdict as text: some viewers of notebooks remove frames."""
    return f"<p>{html.escape(verdict)}</p>\n{_frame(command, page)}"


class Workbench:
    """A page with the simulator inside. `page` is its whole HTML; a notebook shows it in a frame."""

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
