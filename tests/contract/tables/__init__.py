"""The contract of the Table port, for every implementation."""
