"""Batch: the rows to label next, best first, with the reasons, and the ways to write them down."""

from minmargin.batch.batch import Batch, writer_for
from minmargin.batch.columns import cell_text, to_column
from minmargin.batch.picks import Pick
from minmargin.batch.reasons import reasons_of
from minmargin.batch.writing import write_csv

__all__ = ["Batch", "Pick", "cell_text", "reasons_of", "to_column", "write_csv", "writer_for"]
