"""Facts and events that commands read, check, load and follow."""
