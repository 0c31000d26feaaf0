"""Formulas: no spreadsheet runs a cell of a CSV file, and every text can be had back."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minmargin.batch.formulas import as_written, harmless

SIGNS = ["=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20"]  # the last four are wide
UNSEEN = ["", " ", "\ufeff", "\xa0", "\u200b", "\u3000", "\x00", " \t", "\u2060"]


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("unseen", UNSEEN)
def test_a_formula_is_one_whatever_stands_before_it_unseen(sign, unseen):
    text = f"{unseen}{sign}1+1"
    assert harmless(text) == f"'{text}"
    assert as_written(f"'{text}") == text


@pytest.mark.parametrize("text", ["-5", "+1.5e3", "-1.349,74", " -5", "a=b", "'tis", "", "x -1", "(=1)"])
def test_numbers_and_other_texts_stay_as_they_are(text):
    assert harmless(text) == as_written(text) == text


@given(
    st.text(st.sampled_from([*SIGNS, *"".join(UNSEEN), "'", "1", "a", ".", "\n"]), max_size=6)
    | st.text(max_size=8)
)
def test_every_text_can_be_had_back(text):
    written = harmless(text)
    assert as_written(written) == text
    seen = [each for each in written if unicodedata.category(each) not in {"Zs", "Cf", "Cc"}]
    number = any(each.isdigit() for each in seen) and set(seen) <= set("+-0123456789.,'eE")
    assert number or not seen or seen[0] not in SIGNS, "the first character that is seen is no sign"
