"""The life of a run, in order, and the promise at its end: whatever happened, nothing is left.

0. It has a place on this host (`places`).
1. The intent is on disk (`run.json`, locked) before anything exists that would have to be cleaned up. A run may find
   its containers waiting, under its id and its lock; they were made for it and proved, and are proved again in 4.
2. What earlier crashes left is being swept, beside what follows; engine and image are asked for.
3. A fresh container begins to start. Meanwhile the gate fetches the repository; remote, default branch and base commit
   are recorded here, on the host.
4. The container is up, and its posture is proved: a control that cannot be seen active ends the run (exit 6).
5. The clone is made inside; set-up runs under the set-up network; the network is cut, and the cut is proved.
6. The baseline is taken: what is there now is what "when the run started" means.
7. Calls, in order.
8. changes.patch, teardown (verified), report.json, receipt.json, report.html: also after an error, a limit or
   an interrupt (`closing`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any

from runner.audit.keys import SigningKey
from runner.audit.log import AuditLog
from runner.audit.scrub import Scrubber
from runner.controller import report
from runner.controller.aside import Aside
from runner.controller.closing import finish
from runner.controller.host import Host
from runner.controller.pipeline import CallAnswer, Pipeline
from runner.controller.prepare import Prepared, address_of, prepare
from runner.controller.records import RunRecord, new_run_id
from runner.controller.spec import RunRequest
from runner.controller.specs import deadline_of, shape_of
from runner.controller.stopwatch import Stopwatch, utc
from runner.controller.sweep import sweep
from runner.controller.warm import WarmRun
from runner.gate.address import Address
from runner.model.errors import ErrorCode, ExitCode, RunnerError, SandboxLost, ToolError
from runner.policy.redaction import passwords_in, secrets_of

__all__ = ["Progress", "Run", "keep_ready", "open_run", "reserve", "unreserving"]

Progress = Callable[[str], None]


class Run:
    """An open run. `call` answers; `ended_because` and `exit_code` say how it stands."""

    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared
        self._pipeline: Pipeline | None = None
        self._completed = False
        self.facts: dict[str, Any] = {}
        self.failure: RunnerError | None = None
        self.interrupted = False

    def ready(self, pipeline: Pipeline) -> None:
        """Calls are answered from here on."""
        self._pipeline = pipeline

    def completed(self) -> None:
        """The caller has no more calls."""
        self._completed = True

    def call(self, tool: str, arguments: object) -> CallAnswer:
        """The answer of one call, in the contract's form."""
        if self._pipeline is None or tool not in self.prepared.request.tools:
            declared = ", ".join(sorted(self.prepared.request.tools)) or "none"
            refusal = ToolError(
                ErrorCode.TOOL_NOT_DECLARED, "The task does not declare this tool.", hint=f"It declares: {declared}."
            )
            if self._pipeline is None or self._pipeline.knows(tool):
                return self.refuse(tool, refusal)
        return self._pipeline.call(tool, arguments)

    def refuse(self, tool: str, error: ToolError) -> CallAnswer:
        """The answer of a call that never got as far as a tool; it counts and is audited like any other."""
        if self._pipeline is None:
            return {"ok": False, "error": error.as_json()}
        return self._pipeline.refuse(tool, error)

    @property
    def pipeline(self) -> Pipeline | None:
        """The calls so far, for the report."""
        return self._pipeline

    @property
    def ended(self) -> RunnerError | None:
        """Why the run ended early, None while it hasn't."""
        return self.failure or (self._pipeline.ended if self._pipeline is not None else None)

    @property
    def ended_because(self) -> str:
        """One line, empty when the run completed."""
        error = self.ended
        said = "" if error is None else " ".join(filter(None, (f"{error.message}.", error.hint)))
        return self.prepared.scrubber.text(said)

    @property
    def exit_code(self) -> ExitCode:
        """What the CLI ends with."""
        if self.interrupted:
            return ExitCode.INTERRUPTED
        error = self.ended
        return ExitCode.COMPLETED if error is None else error.exit_code

    @property
    def status(self) -> str:
        """completed, interrupted, lost or failed."""
        if self.interrupted:
            return "interrupted"
        if self.ended is not None:
            return "lost" if isinstance(self.ended, SandboxLost) else "failed"
        return "completed" if self._completed else "failed"


@contextmanager
def open_run(
    host: Host,
    request: RunRequest,
    progress: Progress,
    run_id: str | None = None,
    wanted: Callable[[], bool] = lambda: True,
) -> Iterator[Run]:
    """A run that is ready for calls; torn down, verified and reported when the block ends, however it ends.

    `run_id` is for a caller that has told its name already, which `reserve` gives.
    It waits for a place on this host before anything of it exists, as long as it is `wanted`; its time starts then.

    Raises:
        HostFull: no place came free in time.
        QueueLeft: it was given up before one did.
        RunnerError: when the run cannot be brought to that point; then nothing of it is left.
    """
    # Before anything is written down: an address with a secret in it is refused, and must not be kept either.
    address = address_of(request) if request.needs_workspace else None
    key = host.signing_key()  # a run that could not be sealed is not started
    if run_id is None and host.pool is None:
        run_id = new_run_id()  # else a warm run's name is taken, which is not known before there is a place
    place = nullcontext() if address is None else host.places.taken(address.url, progress, wanted, run_id or "")
    with ExitStack() as stack:
        with unreserving(host, run_id):
            stack.enter_context(place)
        yield stack.enter_context(_kept(host, request, progress, address, key, run_id))


@contextmanager
def unreserving(host: Host, run_id: str | None) -> Iterator[None]:
    """What was set aside for a run that the block does not bring further waits for another one."""
    try:
        yield
    except BaseException:
        if host.pool is not None and run_id is not None:
            host.pool.unreserve(run_id)
        raise


@contextmanager
def _kept(
    host: Host,
    request: RunRequest,
    progress: Progress,
    address: Address | None,
    key: SigningKey,
    run_id: str | None,
) -> Iterator[Run]:
    """The run, from its folder on the disk to its receipt."""
    warm = _take_warm(host, request, address) if run_id is None else _set_aside(host, run_id)
    record = host.state.begin(run_id) if warm is None else warm.record
    try:
        with _giving_back(warm):
            prepared = _noted(host, request, address, record, progress, warm)
        run = Run(prepared)
        try:
            with _outcome(run):
                _begin(prepared, run, key.public.key_id)
                yield run
        finally:
            finish(prepared, run, key)
    finally:
        record.release()


def reserve(host: Host, request: RunRequest) -> str:
    """The name that a run of this request will have, for `open_run`: of one that waits, set aside for it, or a new one.

    Raises:
        RepositoryUnavailable: the request's address cannot be used.
    """
    address = address_of(request) if request.needs_workspace else None
    warm = _take_warm(host, request, address)
    return new_run_id() if warm is None else warm.record.run_id


def keep_ready(host: Host, request: RunRequest) -> None:
    """What runs of this request need is being started, as far as the policy has it kept; for who knows what will come.

    Raises:
        RepositoryUnavailable: the request's address cannot be used.
    """
    size = request.policy.policy.pool
    if host.pool is not None and request.needs_workspace and size:
        host.pool.expect(shape_of(host, request.policy.policy, address_of(request)), size)
        host.pool.fill()


def _take_warm(host: Host, request: RunRequest, address: Address | None) -> WarmRun | None:
    """A run that waits for one like this, whose name and record it gets."""
    size = request.policy.policy.pool
    if host.pool is None or address is None or not size:
        return None
    return host.pool.take(shape_of(host, request.policy.policy, address), size)


def _set_aside(host: Host, run_id: str) -> WarmRun | None:
    return None if host.pool is None else host.pool.reserved(run_id)


@contextmanager
def _giving_back(warm: WarmRun | None) -> Iterator[None]:
    """What was taken for a run that could not even be written down is not left."""
    try:
        yield
    except BaseException:
        if warm is not None:
            warm.discard()
        raise


def _noted(
    host: Host,
    request: RunRequest,
    address: Address | None,
    record: RunRecord,
    progress: Progress,
    warm: WarmRun | None,
) -> Prepared:
    """The run is on disk, and has nothing yet but what waited for it."""
    seconds = request.policy.policy.limits.run_seconds
    scrubber = _scrubber(host, request)
    intent = report.intent(record.run_id, request, address, utc(host.unix()), deadline_of(host, seconds))
    record.note("run.json", scrubber.value(intent))
    audit = AuditLog(record.folder / "audit.jsonl", record.run_id, lambda: utc(host.unix()), scrubber)
    watch, deadline = Stopwatch(host.monotonic), host.monotonic() + seconds
    told = _scrubbed(progress, scrubber)
    if host.pool is not None and host.pool.trouble:
        told(f"WARNING: no workspaces are kept warm: {host.pool.trouble}")
    prepared = Prepared(host, request, address, record, audit, watch, told, deadline, scrubber, warm)
    if host.pool is not None and warm is not None:
        record.taken()
        host.pool.own(warm)
    return prepared


def _scrubbed(progress: Progress, scrubber: Scrubber) -> Progress:
    return lambda message: progress(scrubber.text(message))


def _scrubber(host: Host, request: RunRequest) -> Scrubber:
    """Knows what is secret before the run starts; a credential of a file or a command is told to it when it is read."""
    policy = request.policy.policy
    named = [binding.credential for binding in policy.bindings]
    if policy.commit.sign is not None:
        named.append(policy.commit.sign.ssh)
    values = [host.secrets.get(each.env, "") for each in named if each is not None and each.env is not None]
    # Line by line, since a key may come out in parts.
    scrubber = Scrubber(line for value in values for line in value.splitlines())
    scrubber.hide(*secrets_of(policy.env), *passwords_in(host.npm_registry or ""))
    return scrubber


def _begin(prepared: Prepared, run: Run, key_id: str) -> None:
    host, request = prepared.host, prepared.request
    whose = {"controller": host.state.controller_id, "key": key_id}
    prepared.audit.append("run.started", {**report.intent_facts(request, prepared.address), **whose})
    if not request.needs_workspace:
        return
    sweeping = Aside(lambda: sweep(host.engine, host.state, host.unix()))
    sweeping.begin()
    try:
        workspace = prepare(prepared)
    finally:
        if host.pool is not None:
            host.pool.fill()  # not before: starting others would slow this one down
        sweeping.settle()
    swept = sweeping.answer()
    if swept.removed:
        prepared.progress(f"removed what {len(swept.removed)} crashed run(s) had left")
    clock, deadline, look = host.monotonic, prepared.deadline, prepared.canary.look
    keep = prepared.outputs.keep
    pipeline = Pipeline(workspace, prepared.policy, prepared.audit, clock, deadline, look, keep)
    prepared.on_decision = pipeline.on_decision
    run.ready(pipeline)
    prepared.watch.start("calls")


@contextmanager
def _outcome(run: Run) -> Iterator[None]:
    """Note how the block ended, for the report, and let it go on its way."""
    scrubber = run.prepared.scrubber
    try:
        yield
    except RunnerError as error:
        # The door prints it, and it may hold what a program of the set-up said.
        error.message, error.hint = scrubber.text(error.message), scrubber.text(error.hint)
        run.failure = error
        raise
    except Exception as error:
        # A bug, of ours or of the door's; the report must not count such a run as one without a failure.
        run.failure = RunnerError(f"internal error: {type(error).__name__}: {error}", hint="Please report it.")
        raise
    except KeyboardInterrupt:
        run.interrupted = True
        raise
