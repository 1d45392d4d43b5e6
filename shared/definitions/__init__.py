"""Definitions: what `indexes.yaml` says, loaded, checked and explained. Pure."""
