"""``python -m tenure.testing.emulators``: emulated providers as a process of their own.

Reads a configuration, one JSON object or a list of them, prints one line of JSON once all of them
listen, and runs until SIGTERM, SIGINT, or, with ``--until-eof``, the end of its standard input:

    {"pid": 4711, "url": "http://127.0.0.1:40001", "urls": {"stripe": "http://127.0.0.1:40001"}}

For tests that kill or freeze a provider, for demonstrations, and for suites in other languages.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

from tenure.base import json
from tenure.base.errors import TenureError
from tenure.testing.emulators.config import Config, read_config


def main(arguments: list[str] | None = None) -> int:
    """Run until told to stop; 0 then, 78 for a configuration that cannot work."""
    parser = argparse.ArgumentParser(prog="python -m tenure.testing.emulators")
    parser.add_argument("--config", required=True, help="a JSON file, or - for standard input")
    parser.add_argument(
        "--until-eof",
        action="store_true",
        help="stop at the end of standard input; with --config - only its first line is read",
    )
    options = parser.parse_args(arguments)
    try:
        configs = read_config(_text(options.config, one_line=options.until_eof))
        return _run(configs, until_eof=options.until_eof)
    except (TenureError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 78


def _text(source: str, *, one_line: bool) -> bytes:
    if source != "-":
        return Path(source).read_bytes()
    return sys.stdin.buffer.readline() if one_line else sys.stdin.buffer.read()


def _run(configs: tuple[Config, ...], *, until_eof: bool) -> int:
    halt = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: halt.set())
    with ExitStack() as stack:
        urls = {config.title: stack.enter_context(config.emulator()).url for config in configs}
        first = next(iter(urls.values()), None)
        line = json.encode({"pid": os.getpid(), "url": first, "urls": urls})
        sys.stdout.buffer.write(line + b"\n")
        sys.stdout.buffer.flush()
        if until_eof:
            threading.Thread(target=_watch, args=(halt,), daemon=True).start()
        halt.wait()
    return 0


def _watch(halt: threading.Event) -> None:
    """Stop with whoever started this: its end of the pipe closes however it died."""
    os.read(sys.stdin.fileno(), 1)
    halt.set()


if __name__ == "__main__":
    sys.exit(main())
