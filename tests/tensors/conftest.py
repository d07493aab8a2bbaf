"""The command in this process, as the tests of `cli` run it."""

from ..cli.conftest import fails, passes, raw_safetensors, saved  # noqa: F401
