"""Other queues under the same load, in the same run, on the same server."""
