"""Texts that a spreadsheet would take for formulas: in CSV files they have an apostrophe before them."""

from __future__ import annotations

import re

# Spreadsheets pass over what cannot be seen before a sign, and some take the wide signs of East Asian keyboards.
_UNSEEN = r"[\x00-\x20\x7f-\xa0\xad\u200b-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]*"
_FORMULA = re.compile(rf"'*([\t\r\n]|{_UNSEEN}[=+\-@\uff1d\uff0b\uff0d\uff20])")
_NUMBER = re.compile(
    r" *[+-]?\d+([.,']\d+)*[.,]?([eE][+-]?\d+)? *", re.ASCII
)  # with any marks that numbers have


def harmless(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula.

    >>> [harmless(text) for text in ("=1+1", "@x", "-x", "-5", "+1.5e3", "-1.349,74", "a=b", " =1", "'=1")]
    ["'=1+1", "'@x", "'-x", '-5', '+1.5e3', '-1.349,74', 'a=b', "' =1", "''=1"]
    """
    return f"'{text}" if _FORMULA.match(text) and _NUMBER.fullmatch(text) is None else text


def as_written(text: str) -> str:
    """Return the text of which `harmless` made this one.

    >>> [as_written(text) for text in ("'=1+1", "'-5", "''=1", "'tis")]
    ['=1+1', "'-5", "'=1", "'tis"]
    """
    return text[1:] if text.startswith("'") and harmless(text[1:]) == text else text
