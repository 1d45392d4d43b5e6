"""The ledger: one row per fact, with its newest applied version and the entries it has."""
