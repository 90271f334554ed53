"""`pytest -p pijit.pytest` runs a project's tests with capture on. `--pijit-include`, `--pijit-exclude` and
`--pijit-report` are as the options of `python -m pijit`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _launch, automatic

if TYPE_CHECKING:
    from typing import Any


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("pijit")
    group.addoption("--pijit-include", default="", help="packages to capture, too, e.g. 'mylib.*'")
    group.addoption("--pijit-exclude", default="", help="modules or files to leave alone")
    group.addoption("--pijit-report", action="store_true", help="say at the end what was captured")


def pytest_configure(config: Any) -> None:
    automatic.enable(_launch.patterns(config.getoption("--pijit-include")),
                     _launch.patterns(config.getoption("--pijit-exclude")))


def pytest_terminal_summary(terminalreporter: Any, config: Any) -> None:
    if config.getoption("--pijit-report"):
        terminalreporter.section("pijit")
        terminalreporter.write_line(automatic.report().text())


def pytest_unconfigure() -> None:
    automatic.disable()
