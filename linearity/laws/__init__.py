"""The laws of the ledger and of classification."""
