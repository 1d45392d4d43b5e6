"""The embedded Azure: what a laptop needs to run the function app without a cloud."""
