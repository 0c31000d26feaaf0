"""Selection: of all the rows nobody has labeled yet, which B should be labeled next?"""

from minmargin.selection.given import select_from_probabilities
from minmargin.selection.select import select

__all__ = ["select", "select_from_probabilities"]
