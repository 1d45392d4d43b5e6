"""The local run: storage, servers and host, started, watched and stopped together."""
