"""The function app, driven through the production runtime."""
