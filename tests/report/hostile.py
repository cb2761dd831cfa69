"""Strings that break a report which trusts what it is told."""

from __future__ import annotations

MARKUP = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
ANSI = "\x1b[31mred\x1b[0m\x1b]0;title\x07\x1b[2J"
PIPES = "a|b\n| injected | row |\n# heading `code` [link](http://example.invalid) ${{ x }}"
BIDI = "safe \u202egnp.exe\u202c \u05e9\u05dc\u05d5\u05dd"
NUL = "before\x00after\x85\ufeff\u2028end"
LONG = "x" * 20_000
WORDY = "word " * 4_000
CJK = "推測デコードが遅い " * 20
HOSTILE = (MARKUP, ANSI, PIPES, BIDI, NUL, LONG, WORDY, CJK)
