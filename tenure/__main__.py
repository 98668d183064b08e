"""The doorbell: ``python -m tenure`` is the command line."""

from __future__ import annotations

from tenure.cli import main

if __name__ == "__main__":
    main()
