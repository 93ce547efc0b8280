"""The laws about parts that users of the library do not replace, and about test doubles."""
