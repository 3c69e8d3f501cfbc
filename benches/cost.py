"""Prints what a shell command costs, with all its descendants, also those that it does not wait for, such as the addr2line of perf:

    python3 cost.py LIMIT COMMAND

wall-clock seconds, CPU seconds (user and system), peak resident memory in MiB of the largest process, which includes mapped files,
and peak anonymous memory in MiB of all processes together, sampled every 50 ms. The output of the command is discarded. A
command that takes longer than LIMIT seconds is killed, and "timeout" follows its cost so far; a command that fails prints "fails".
"""

import ctypes
import os
import resource
import signal
import subprocess
import sys
import threading
import time

PR_SET_CHILD_SUBREAPER = 36


def anonymous(session):
    """Anonymous memory in KiB of the processes of a session."""
    total = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as file:
                if int(file.read().rpartition(")")[2].split()[3]) != session:
                    continue
            with open(f"/proc/{pid}/status") as file:
                total += next((int(line.split()[1]) for line in file if line.startswith("RssAnon:")), 0)
        except OSError:
            pass
    return total


def main():
    limit, command = float(sys.argv[1]), sys.argv[2]
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # A wrapper that executes Python may have had children.
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    child = subprocess.Popen(
        ["bash", "-c", command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    peak, done = 0, threading.Event()

    def sample():
        nonlocal peak
        while not done.wait(0.05):
            peak = max(peak, anonymous(child.pid))

    sampler = threading.Thread(target=sample)
    sampler.start()
    try:
        status = child.wait(limit)
    except subprocess.TimeoutExpired:
        status = None
        os.killpg(child.pid, signal.SIGKILL)
    wall = time.monotonic() - start
    done.set()
    sampler.join()
    try:
        while True:
            os.wait()
    except ChildProcessError:
        pass
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    if status in (0, None):
        end = " timeout" if status is None else ""
        cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
        print(f"{wall:.2f} {cpu:.2f} {used.ru_maxrss >> 10} {peak >> 10}{end}")
    else:
        print("fails")


main()
