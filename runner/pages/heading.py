"""A run in a few words: for the head of its page, and for a list of runs."""

from __future__ import annotations

from dataclasses import dataclass

from runner.audit.record_forms import ReportFile
from runner.pages.record import RecordFolder
from runner.pages.story import Story
from runner.pages.units import day_and_time, long_time, seconds_between
from runner.pages.untrusted import Untrusted, untrusted

__all__ = ["Heading", "heading_of"]


@dataclass(frozen=True, slots=True)
class Heading:
    """`status` is a word of ours, times are UTC. A run that is `lost` lost its workspace or its controller.

    The short names are for a list, where whole paths leave no room.
    """

    run_id: str
    status: str
    repository: Untrusted | None
    ref: Untrusted | None
    policy: Untrusted | None
    repository_short: Untrusted | None
    policy_short: Untrusted | None
    started: str
    duration: str
    calls: int
    refused: int

    @property
    def live(self) -> bool:
        """Whether the run still goes on, or is still to begin."""
        return self.status in ("running", "opening")


def heading_of(folder: RecordFolder, story: Story, report: ReportFile | None) -> Heading:
    """The run in a few words."""
    intent = folder.intent()
    asked = intent if story.started is None else story.started.model_dump()
    status = _status(folder, story, report)
    # Of a run that goes on, the log's last line only tells when something last happened.
    lasted = None if status == "running" else seconds_between(story.first_at, story.last_at)
    return Heading(
        run_id=folder.run_id,
        status=status,
        repository=_named(asked.get("repository")),
        ref=_named(asked.get("ref")),
        policy=_named(asked.get("policy")),
        repository_short=_named(_without_scheme(asked.get("repository"))),
        policy_short=_named(_base_name(asked.get("policy"))),
        started=day_and_time(story.first_at or str(intent.get("started", ""))),
        duration="" if lasted is None else long_time(lasted),
        calls=story.counts["calls"],
        refused=story.counts["refused"],
    )


def _named(value: object) -> Untrusted | None:
    return None if value is None else untrusted(value, 500)


def _without_scheme(value: object) -> object:
    return value.removeprefix("file://") if isinstance(value, str) else value


def _base_name(value: object) -> object:
    """The last part of a path, as it is where there is none: a policy is a file, or the name of a preset."""
    return (value.rstrip("/").rpartition("/")[2] or value) if isinstance(value, str) else value


def _status(folder: RecordFolder, story: Story, report: ReportFile | None) -> str:
    """Of the report, else of the log's last line; without either the run goes on, or nobody is there to end it."""
    if report is not None:
        return report.status
    if story.ended is not None:
        return story.ended.status
    if folder.known is not None:
        return folder.known.status
    return "running" if folder.alive else "lost"
