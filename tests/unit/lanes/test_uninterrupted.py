"""Signals that wait until the worker processes have started."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from campaign.lanes.workers import uninterrupted


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_waits_for_the_end_of_the_block_whichever_thread_gets_it(number: signal.Signals) -> None:
    seen: list[str] = []
    before = signal.signal(number, lambda _number, _frame: seen.append("handled"))
    inside = threading.Event()

    def send() -> None:
        inside.wait()
        os.kill(os.getpid(), number)

    # Started before the block: this thread takes the signal if the main one blocks it.
    sender = threading.Thread(target=send)
    sender.start()
    try:
        with uninterrupted():
            inside.set()
            sender.join()
            time.sleep(0.05)
            seen.append("end of the block")
        assert seen == ["end of the block", "handled"]
    finally:
        signal.signal(number, before)


def test_nothing_happens_without_a_signal() -> None:
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with uninterrupted():
        pass
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers
