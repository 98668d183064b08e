"""A passage covers what is inside its block, and nothing else."""

from __future__ import annotations

import asyncio
import contextvars
import threading

import pytest

from tenure.base.passage import is_open, passage


def test_passage_is_open_inside_its_block_only() -> None:
    """Before, after, and after a failure there is no passage; nested ones end one by one."""
    assert not is_open()
    with passage():
        assert is_open()
        with passage():
            assert is_open()
        assert is_open()
    assert not is_open()
    with pytest.raises(KeyError), passage():
        raise KeyError
    assert not is_open()


def test_passage_is_not_seen_by_other_threads() -> None:
    """A thread started inside a passage has none."""
    seen: list[bool] = []
    with passage():
        thread = threading.Thread(target=lambda: seen.append(is_open()))
        thread.start()
        thread.join()
    assert seen == [False]


def test_copied_context_sees_the_passage_end() -> None:
    """What keeps the context of a passage keeps no open passage."""
    with passage():
        kept = contextvars.copy_context()
        assert kept.run(is_open)
    assert not kept.run(is_open)


def test_task_that_outlives_a_passage_loses_it() -> None:
    """A task started inside a passage stands outside once the passage has ended."""

    async def scenario() -> None:
        ended = asyncio.Event()

        async def later() -> bool:
            await ended.wait()
            return is_open()

        with passage():
            task = asyncio.create_task(later())
        ended.set()
        assert not await task

    asyncio.run(scenario())


def test_tasks_side_by_side_have_their_own() -> None:
    """A passage held across an await is not open in the task that runs meanwhile."""

    async def scenario() -> None:
        inside, looked = asyncio.Event(), asyncio.Event()

        async def look() -> bool:
            await inside.wait()
            seen = is_open()
            looked.set()
            return seen

        task = asyncio.create_task(look())
        with passage():
            inside.set()
            await looked.wait()
            assert is_open()
        assert not await task

    asyncio.run(scenario())
