"""The command in this process, as the tests of `cli` run it."""

from ..cli.conftest import fails, passes  # noqa: F401
