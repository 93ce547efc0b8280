"""The laws about helpers and test doubles that users of the library do not see."""
