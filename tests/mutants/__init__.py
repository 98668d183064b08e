"""Each mechanism that keeps a promise, removed on purpose: a named test must go red.

    python -m tests.mutants                     all of them
    python -m tests.mutants --short             one for each promise
    python -m tests.mutants --only gate -v      those whose name holds a word, with what was said

A mutant is a patch ``NNN-what-is-removed.patch``.  Before its diff stand a few lines:

    Promise: 2                                  the promise that is broken by it
    Removes: the gate asks for no fence         one sentence
    Red: tests/store/test_gate.py::test_x       what must fail; as many lines as there are tests
    Short: yes                                  only where it belongs to the short run

``patches`` reads them, ``tree`` copies the tree and applies one, ``judge`` runs the tests on it.
"""
