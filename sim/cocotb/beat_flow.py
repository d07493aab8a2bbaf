"""Beats that flow through a converter with lanes, inside a simulator. For `bench`."""

from __future__ import annotations

from .flow import Flow, FlowError


class BeatFlow(Flow):
    """`Flow` of a converter whose blocks are several beats; "blocks" and "results" are beats here.

    Whenever the receiver has been ready for long, a beat must be able to enter in each cycle, and results must come a
    fixed time after the last beat that they need.
    """

    PARTS = "beats"

    free = 0
    """Cycles for which the receiver has been ready."""

    @property
    def settled(self) -> int:
        return 2 * (self.config.latency + self.config.beats) + self.config.pause + self.config.interval

    def passed(self, moving: bool) -> int:
        return 1  # time is the number of cycles

    def check_ready(self, moving: bool, valid: bool, ready: bool, results: int) -> None:
        self.free = self.free + 1 if ready and self.time and self.config.is_steady else 0
        if self.free > self.settled and not moving:
            raise FlowError(f"no beat can enter although nothing waits, after {results} beats")
        part = self.config.gathered
        complete = len(self.entry) // part
        late = results // part < complete and self.time > self.entry[-1] + self.config.latency
        if self.free > self.settled and late and not valid:
            raise FlowError(f"beat {results} did not come")

    def check_result(self, results: int) -> None:
        beats, part = self.config.beats, self.config.gathered
        beat, needed = results % beats, results // part
        if needed >= len(self.entry) // part:
            raise FlowError(f"a beat before its inputs were complete, after {results}")
        marks = self.bit("o_first", [None] * results), self.bit("o_last", [None] * results)
        if marks != (beat == 0, beat == beats - 1):
            raise FlowError(f"o_first and o_last are {marks[0]:d} and {marks[1]:d} at beat {beat} of a block")
        waited, right = self.time - self.entry[needed * part + part - 1], self.config.latency - (part - 1)
        if self.free > self.settled and results % part == 0 and waited != right:
            raise FlowError(f"beat {results} came {waited} cycles after the last beat that it needs, not {right}")
