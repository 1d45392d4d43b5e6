"""The whole local run, as a user starts it."""
