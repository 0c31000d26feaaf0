"""Tables read back before anything is picked: what each column is taken for, and what looks wrong."""

from minmargin.inspection.inspecting import Table, inspect, look_at
from minmargin.inspection.inspection import Inspection

__all__ = ["Inspection", "Table", "inspect", "look_at"]
