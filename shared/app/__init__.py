"""The composition root: settings, connections, and every long-lived part of a process, made once."""
