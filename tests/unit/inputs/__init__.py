"""Unit tests of inputs."""
