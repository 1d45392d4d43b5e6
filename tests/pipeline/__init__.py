"""The pipeline on a Table service: in memory and Azurite."""
