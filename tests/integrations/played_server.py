"""A Label Studio server that is played in memory."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from minmargin.integrations.label_studio import LabelStudioError
from minmargin.integrations.label_studio.server import Project, Task


@dataclass
class PlayedServer:
    """Answers as `Server` does. Each import takes one of `fates`: ok, lost (done, unanswered), or gone (not done)."""

    fates: list[str] = field(default_factory=list)
    projects: list[Project] = field(default_factory=list)
    rows: list[Task] = field(default_factory=list)
    url: str = "http://played"

    def find_project(self, project: int | str) -> Project | None:
        return next((each for each in self.projects if project in {each.id, each.title}), None)

    def get_project(self, project: int | str) -> Project:
        found = self.find_project(project)
        assert found is not None
        return found

    def make_project(self, title: str, config: str) -> Project:
        self.projects.append(Project(len(self.projects) + 1, title, config))
        return self.projects[-1]

    def tasks(self, project: Project, *, annotations: bool) -> list[Task]:
        return list(self.rows)

    def count_tasks(self, project: Project) -> int:
        return len(self.rows)

    def wrong_answers(self, doing: str) -> nullcontext[None]:
        return nullcontext()

    def add_tasks(self, project: Project, tasks: list[dict[str, Any]]) -> bool:
        fate = self.fates.pop(0) if self.fates else "ok"
        if fate != "gone":
            self.rows += [Task(task["data"], []) for task in tasks]
        if fate != "ok":
            raise LabelStudioError("It went away.")
        return True
