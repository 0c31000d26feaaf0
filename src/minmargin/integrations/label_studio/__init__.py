"""Label Studio: batches become tasks with the model's guess, annotations come back as labels."""

from __future__ import annotations

from minmargin.integrations.items import Showing
from minmargin.integrations.label_studio.pulling import Pulled, pull
from minmargin.integrations.label_studio.pushing import Pushed, push
from minmargin.integrations.label_studio.server import LabelStudioError
from minmargin.integrations.label_studio.tokens import TOKEN_VARIABLE
from minmargin.integrations.label_studio.votes import Tie

__all__ = ["TOKEN_VARIABLE", "LabelStudioError", "Pulled", "Pushed", "Showing", "Tie", "pull", "push"]
