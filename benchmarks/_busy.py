"""How busy the machine was with other things: a ratio is worth little if it was taken beside somebody else's work."""

import os
import resource
import time
from pathlib import Path


class Busy:
    """From when it is made until it is asked."""

    def __init__(self):
        self.start = time.perf_counter(), _own(), _all()

    def __str__(self):
        now = time.perf_counter(), _own(), _all()
        seconds, own, everything = (end - start for start, end in zip(self.start, now, strict=True))
        cores = os.cpu_count() or 1
        if not _STAT.exists():
            return f"load {os.getloadavg()[0]:.1f} on {cores} cores" if hasattr(os, "getloadavg") else "unknown"
        others = max(0.0, everything - own) / (seconds * cores)
        return f"others {others:.0%}, load {os.getloadavg()[0]:.1f} on {cores} cores"


_STAT = Path("/proc/stat")


def _own():
    """Seconds of processor of this process and of those it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _all():
    """Seconds that all cores together were not idle since the machine started; 0 where it does not say."""
    if not _STAT.exists():
        return 0.0
    user, nice, system, _, _, interrupts, soft, *_ = map(int, _STAT.read_text().split("\n", 1)[0].split()[1:])
    return (user + nice + system + interrupts + soft) / os.sysconf("SC_CLK_TCK")
