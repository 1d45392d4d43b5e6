"""Is an index right? Verification finds what differs between facts, ledger and table; repair mends exactly that."""
