"""The life of a generation: build, catch up, switch, roll back, retire."""
