"""Tool loops through strict providers: in process by the hundred thousand, and over HTTP through the vendors' own SDKs."""
