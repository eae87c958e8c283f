"""Waiting for a condition, never for time."""

import time


def until(condition, what, seconds=60):
    """Polls until `condition()` is true and returns its value; fails with `what` after `seconds`."""
    limit = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < limit, f"never came true: {what}"
        time.sleep(0.05)
