"""The Table service on the wire: requests, signatures, answers."""
