"""What the stories share: real workers to kill and freeze, a proxy that knows statements, rows."""
