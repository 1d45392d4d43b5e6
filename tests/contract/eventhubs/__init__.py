"""The contract of the local Event Hubs, held by the real SDKs and by frames of our own."""
