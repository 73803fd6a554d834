# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Gives a program the clock of a recorded run, and seeded random numbers and UUIDs.

The clock is that of the system, moved: it ticks. All processes of a replay share it. time.monotonic, time.perf_counter and os.urandom stay as
they are, so that timeouts and keys are real.

Environment: TAPEDECK_FREEZE_OFFSET (nanoseconds to add to the clock; without it nothing is changed), TAPEDECK_FREEZE_SEED,
TAPEDECK_PRELOAD_REPORT.
"""

import os


def install():
    offset = os.environ.get("TAPEDECK_FREEZE_OFFSET")
    if not offset:
        return
    import json
    import sys

    _clock(int(offset))
    _numbers(os.environ.get("TAPEDECK_FREEZE_SEED", ""), " ".join(getattr(sys, "orig_argv", None) or ["python"]))
    report = os.environ.get("TAPEDECK_PRELOAD_REPORT")
    if report:
        with open(report, "a", encoding="utf-8") as f:
            f.write(json.dumps({"frozen": "Python " + sys.version.split()[0]}) + "\n")


def _clock(offset):
    import ctypes
    import datetime
    import gc
    import time

    real_ns = time.time_ns
    local, utc, text_of, strftime = time.localtime, time.gmtime, time.asctime, time.strftime

    def time_ns():
        return real_ns() + offset

    def now():
        return time_ns() / 1e9

    def converts(function):
        def convert(secs=None):
            return function(now() if secs is None else secs)

        return convert

    time.time_ns, time.time = time_ns, now
    time.localtime, time.gmtime = converts(local), converts(utc)
    time.ctime = lambda secs=None: text_of(local(now() if secs is None else secs))
    time.asctime = lambda t=None: text_of(local(now()) if t is None else t)
    time.strftime = lambda form, t=None: strftime(form, local(now()) if t is None else t)
    if hasattr(time, "clock_gettime"):
        gettime, gettime_ns = time.clock_gettime, time.clock_gettime_ns
        time.clock_gettime = lambda clock: now() if clock == time.CLOCK_REALTIME else gettime(clock)
        time.clock_gettime_ns = lambda clock: time_ns() if clock == time.CLOCK_REALTIME else gettime_ns(clock)

    # The types of datetime are written in C and read the clock themselves. They stay the same types, with other methods.
    methods = gc.get_referents(datetime.datetime.__dict__)[0]
    methods["now"] = classmethod(lambda cls, tz=None: cls.fromtimestamp(now(), tz))
    methods["utcnow"] = classmethod(lambda cls: cls.fromtimestamp(now(), datetime.timezone.utc).replace(tzinfo=None))
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(datetime.datetime))


def _numbers(seed, program):
    import random
    import uuid

    own = random.Random(seed + program)
    random.seed(seed)
    forks = [0]

    def version(number):
        return uuid.UUID(int=own.getrandbits(128), version=number)

    uuid.uuid4 = lambda: version(4)
    uuid.uuid1 = lambda node=None, clock_seq=None: version(1)

    def forked():  # a child goes on with numbers of its own
        own.seed("%s %s fork %d" % (seed, program, forks[0]))

    def forking():
        forks[0] += 1

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=forking, after_in_child=forked)
