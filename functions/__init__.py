"""Azure bindings: each module decodes one family of triggers, calls `shared` and encodes the answer."""
