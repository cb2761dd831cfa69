"""One report in one browser window, and everything it did that a report must not do."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import ConsoleMessage, Dialog, Page, Request

# A pixel of rounding is no scroll bar.
_ROUNDING = 1


class Opened:
    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.address = address
        self.errors: list[str] = []  # in the console, and exceptions that no script caught
        self.requests: list[str] = []  # of anything but the report itself
        self.dialogs: list[str] = []
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", self._asked)
        page.on("dialog", self._dialog)
        page.goto(address)

    def noise(self) -> list[str]:
        """Return everything that went wrong in this window; nothing of a report that behaves."""
        return [
            *(f"console: {text}" for text in self.errors),
            *(f"request: {text}" for text in self.requests),
            *(f"dialog: {text}" for text in self.dialogs),
        ]

    def in_view(self, selector: str, *, screens: int = 1) -> bool:
        """Say whether the first element found lies whole within the first `screens` windows, unscrolled."""
        box = self.page.locator(selector).first.bounding_box()
        size = self.page.viewport_size
        if box is None or size is None:
            return False
        scrolled = self.page.evaluate("window.scrollY")
        return bool(box["y"] + scrolled + box["height"] <= size["height"] * screens + _ROUNDING)

    def box(self, selector: str) -> tuple[float, float]:
        """Return how far below the window's top the first element found begins, and how high it is, in pixels."""
        found = self.page.locator(selector).first.bounding_box()
        assert found is not None, f"nothing to be seen of {selector}"
        return found["y"], found["height"]

    def overflow(self) -> int:
        """Return by how many pixels the page is wider than its window: 0 where nobody has to scroll sideways."""
        wide: int = self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        return max(wide - _ROUNDING, 0)

    def active(self) -> dict[str, Any]:
        """Return tag, id, text and class of what has the keyboard."""
        found: dict[str, Any] = self.page.evaluate(
            "(() => { const e = document.activeElement; return {tag: e.tagName.toLowerCase(), id: e.id, "
            "text: (e.textContent || '').trim().slice(0, 80), class: e.getAttribute('class') || ''}; })()"
        )
        return found

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def _asked(self, request: Request) -> None:
        if request.url.partition("#")[0] != self.address.partition("#")[0]:
            self.requests.append(request.url)

    def _dialog(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()
