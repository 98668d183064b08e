"""A PostgreSQL of one's own in a folder, for those who have not been given one yet.

Owns the binaries' place, the data directory, the server and how long it lives.  Called by the
command line, by development commands and by tests.  Promises: the server starts with its first
user and stops with its last, a killed user does not keep it up, and what was committed is kept.

    start()  takes a share of ``users.lock``, hires a keeper where there is none, gives a URL
    made()   whether a folder has a data directory
    keeper   the server's parent; waits until nobody shares ``users.lock``, then stops it
    server   initdb, postgres, and the end of both
    place    the folder: paths, locks, socket, log
    account  under whom PostgreSQL's programs run, as they refuse to run as root
    binaries where those programs are
"""

from tenure.embedded.use import Embedded, made, start

__all__ = ["Embedded", "made", "start"]
