"""Tables read back before anything is picked: what each column is taken for, and what looks wrong."""

from minmargin.inspection.ids import given_ids
from minmargin.inspection.inspecting import Table, inspect, look_at
from minmargin.inspection.inspection import Inspection

__all__ = ["Inspection", "Table", "given_ids", "inspect", "look_at"]
