"""hearth.Pool and f.submit: calls on other threads, awaited or not."""

import concurrent.futures
import os
import threading

from ._errors import CallError, InvalidArgument


class Future(concurrent.futures.Future):
    """A result to come: .result(), .add_done_callback(), or `await` it."""

    def __await__(self):
        import asyncio

        return asyncio.wrap_future(self).__await__()


class Pool:
    """Threads that call functions side by side; each call has an instance of its own.

    with hearth.Pool(4) as pool:
        for y in pool.map(f, inputs): ...

    Load functions for it with threads=1: many calls at once fill the processors better than one call on all of them.
    """

    def __init__(self, threads=None):
        if threads is None:
            threads = len(os.sched_getaffinity(0))
        if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
            raise InvalidArgument(f"Pool: threads is {threads!r}; expected an int from 1 on")
        self._executor = concurrent.futures.ThreadPoolExecutor(threads, thread_name_prefix="hearth")
        self._process = os.getpid()

    def submit(self, function, /, *args, **kwargs):
        """Calls it on one of the threads; gives a Future."""
        if not callable(function):
            raise CallError(f"submit: {function!r} is no function")
        if self._process != os.getpid():
            raise InvalidArgument("submit: the pool is of the process that this one was forked from; make one here")
        made = Future()

        def work():
            if not made.set_running_or_notify_cancel():
                return
            try:
                result = function(*args, **kwargs)
            except BaseException as error:
                made.set_exception(error)
            else:
                made.set_result(result)

        self._executor.submit(work)
        return made

    def map(self, function, *inputs):
        """The results for every input, in their order."""
        pending = [self.submit(function, *one) for one in zip(*inputs)]
        return (one.result() for one in pending)

    def shutdown(self, wait=True):
        self._executor.shutdown(wait)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.shutdown()


_shared = None
_lock = threading.Lock()


def submit(function, *args, **kwargs):
    """On the threads that all functions of this process share, as many as it may use processors."""
    global _shared
    with _lock:
        if _shared is None or _shared._process != os.getpid():
            _shared = Pool()
    return _shared.submit(function, *args, **kwargs)
