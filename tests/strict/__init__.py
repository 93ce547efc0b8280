"""Tool loops through strict providers: 100,000 in process, and over HTTP with the vendors' SDKs."""
