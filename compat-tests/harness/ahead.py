"""Runs the cases of a slow test ahead, a few at a time; each test then waits for its own case."""

from concurrent.futures import ThreadPoolExecutor


class Ahead:
    """Starts `work(*case)` for every case of `test` that is selected in this run; `names` are its parameters."""

    def __init__(self, request, test, names, work, at_once=2):
        self.pool = ThreadPoolExecutor(at_once)
        items = [item for item in request.session.items if getattr(item, "originalname", "") == test]
        cases = dict.fromkeys(tuple(item.callspec.params[name] for name in names) for item in items)
        self.futures = {case: self.pool.submit(work, *case) for case in cases}

    def result(self, *case, timeout=500):
        return self.futures[case].result(timeout)

    def close(self):
        self.pool.shutdown(wait=False, cancel_futures=True)
