"""A plugin of pytest: `--forks N` runs the tests in N forks of the process that has collected them.

What tests import is imported once. The tests of a file stay in one fork, which has one database, one server and one
browser for all of them. Files with servers are for the first two forks, since each fork with one starts installations
and a browser of its own; these wait most of the time, while the others have the cores.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
from collections.abc import Iterator
from itertools import chain, groupby
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any

import pytest

NUMBER = "REELJUDGE_TEST_PROCESS"  # its number, in the environment of each process of tests
FORKS_WITH_SERVERS = 2
needs_server = pytest.StashKey[bool]()  # of a test, which tests/conftest.py sets

forking: Any = multiprocessing.get_context("fork")
Tests = list[pytest.Item]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--forks", type=int, default=0, help="run the tests in so many forks")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    number = session.config.getoption("forks")
    if not number or session.testsfailed or session.config.option.collectonly:
        return None
    files = [list(items) for _, items in groupby(session.items, lambda item: item.path)]
    with_servers = Queue([tests for tests in files if any(needs_server in test.stash for test in tests)])
    others = Queue([tests for tests in files if not any(needs_server in test.stash for test in tests)])
    both = [with_servers, others]
    forks = [Fork(session, each, both if each < FORKS_WITH_SERVERS else [others]) for each in range(number)]
    try:
        _listen(session, {fork.reports: fork for fork in forks})
    finally:
        for fork in forks:
            fork.process.terminate()
    return True


class Queue:
    """Files, each of which goes to the fork that asks first."""

    def __init__(self, files: list[Tests]) -> None:
        self.files, self.taken = files, forking.Value("i", 0)

    def __iter__(self) -> Iterator[Tests]:
        while True:
            with self.taken.get_lock():
                number = self.taken.value
                self.taken.value += 1
            if number >= len(self.files):
                return
            yield self.files[number]


class Fork:
    """A process that runs tests, and the test that it was at when it was last heard of."""

    def __init__(self, session: pytest.Session, number: int, queues: list[Queue]) -> None:
        self.reports: Any
        self.reports, theirs = forking.Pipe(duplex=False)
        self.process: BaseProcess = forking.Process(target=_work, args=(session, number, queues, theirs))
        self.process.start()
        theirs.close()
        self.test: Any = ("", ("", None, "before its first test"))

    def died(self) -> pytest.TestReport:
        """Return the failure of the test that the process died in."""
        self.process.join()
        code = self.process.exitcode or 0
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        name, place = self.test
        return pytest.TestReport(name, place, {}, "failed", f"The process died in this test ({how}).", "call")


def _listen(session: pytest.Session, forks: dict[Any, Fork]) -> None:
    """Pass on what the forks report, until all have ended."""
    config = session.config
    while forks and not session.shouldfail:
        for fork in [forks[reports] for reports in wait(forks)]:
            try:
                fork.test, data = fork.reports.recv()
            except EOFError:
                del forks[fork.reports]
                report = fork.died() if fork.test else None
            else:
                report = data and config.hook.pytest_report_from_serializable(config=config, data=data)
            if report:
                config.hook.pytest_runtest_logreport(report=report)


def _work(session: pytest.Session, number: int, queues: list[Queue], reports: Any) -> None:
    """Run files until none is left. The next file is taken before the last test of one runs, and fails with it."""
    config, name = session.config, f"gw{number}"
    os.environ[NUMBER] = str(number)
    config.workerinput = {"workerid": name}  # type: ignore[attr-defined]  # pytest-django names the database by it
    plugins = config.pluginmanager
    plugins.unregister(name="terminalreporter")
    _capture_alone(plugins.getplugin("capturemanager"))
    factory: Any = config._tmp_path_factory  # type: ignore[attr-defined]
    factory._basetemp = factory.mktemp(name, numbered=False)
    plugins.register(Reporter(config, reports))
    before: pytest.Item | None = None
    tests = (test for queue in queues for file in queue for test in file)
    for test in chain(tests, [None]):
        if before:
            config.hook.pytest_runtest_protocol(item=before, nextitem=test)
        before = test
    reports.send((None, None))


def _capture_alone(capture: Any) -> None:
    """Print into new files, not into those of all forks. They get the old ones' numbers, which streams hold on to."""
    for each in (capture._global_capturing.out, capture._global_capturing.err):
        with tempfile.TemporaryFile() as new:
            os.dup2(new.fileno(), each.tmpfile.fileno())
    capture.suspend_global_capture()
    capture.resume_global_capture()


class Reporter:
    """Sends reports to the process that collected the tests."""

    def __init__(self, config: pytest.Config, reports: Any) -> None:
        self.config, self.reports = config, reports

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        self.reports.send(((nodeid, location), None))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self.config.hook.pytest_report_to_serializable(config=self.config, report=report)
        self.reports.send(((report.nodeid, report.location), data))
