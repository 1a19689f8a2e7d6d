"""The `--since` option: a date, a date with a time, or a span back from now."""

from __future__ import annotations

import datetime
import re
from typing import Any

import click

_UNIT_S = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_SPAN = re.compile(r"([0-9]{1,6})([mhdw])", re.ASCII)


class Since(click.ParamType[float]):
    """Seconds since the epoch from `2026-12-01`, `2026-12-01 14:00` (local time) or `30m`, `12h`, `7d`, `2w`."""

    name = "when"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the moment; fails with a usage error for anything else."""
        now = datetime.datetime.now().astimezone()
        if span := _SPAN.fullmatch(value):
            return now.timestamp() - int(span[1]) * _UNIT_S[span[2]]
        try:
            # Without a zone `timestamp` takes the local one, as what is shown is in local time.
            return datetime.datetime.fromisoformat(value).timestamp()
        except (ValueError, OverflowError, OSError):
            self.fail(
                f"{value!r} is no date (2026-12-01, 2026-12-01 14:00) and no span (30m, 12h, 7d).", param, ctx
            )
