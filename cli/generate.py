"""`mxcast emit`: the Verilog of a configuration."""

from __future__ import annotations

from pathlib import Path

from .options import Config, Format, Json, Name, Out, Profile, Quiet, Set, Verbose, request
from .output import Output

__all__ = ["emit"]


def emit(format: Format = None, profile: Profile = None, set: Set = None, config: Config = None, name: Name = None,
         out: Out = Path("build"), json: Json = False, quiet: Quiet = False, verbose: Verbose = False) -> None:
    """Write the Verilog of a converter, and what belongs to it."""
    output = Output(json, quiet, verbose)
    asked = request("emit {}", format, profile, set, config, name=name)
    from ..hdl import default_name, emit

    results = []
    for chosen in asked.configs:
        output.configuration(chosen)
        files = emit(chosen, out, asked.name)
        if chosen.latency:
            output.say(f"latency {chosen.latency} cycles: registered after {', '.join(chosen.microarchitecture.registered_after)}")
        for path in files.values():
            output.say(f"wrote {path}")
        results.append({"name": asked.name or default_name(chosen), "config_id": chosen.config_id,
                        "profile": chosen.profile, **chosen.to_dict(),
                        "files": {kind: str(path) for kind, path in files.items()}})
    output.document(asked.of(results))
