"""A Label Studio server that outlives the process that talks to it: what it has taken is in a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from faults.points import Points
from integrations.played_server import PlayedServer
from minmargin.integrations.label_studio.server import Project, Task


class StoredServer(PlayedServer):
    """Answers as `Server` does; each request that changes something is a point. Its own disk is never full."""

    def __init__(self, path: Path, points: Points | None) -> None:
        super().__init__()
        self._path, self._points = path, points
        if path.exists():
            stored = json.loads(path.read_text())
            self.projects = [Project(*each) for each in stored["projects"]]
            self.rows = [Task(data, []) for data in stored["rows"]]

    def make_project(self, title: str, config: str) -> Project:
        return self._request(lambda: super(StoredServer, self).make_project(title, config))

    def add_tasks(self, project: Project, tasks: list[dict[str, Any]]) -> None:
        self._request(lambda: super(StoredServer, self).add_tasks(project, tasks))

    def _request(self, answer: Callable[[], Any]) -> Any:
        def take() -> Any:
            answered = answer()
            projects = [[each.id, each.title, each.config] for each in self.projects]
            content = {"projects": projects, "rows": [each.data for each in self.rows]}
            self._path.write_text(json.dumps(content))
            return answered

        return take() if self._points is None else self._points.reach("request", "label-studio", take)
