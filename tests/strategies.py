"""The strategies that the package ships, under the name by which every test knows them."""

from polycontext.nodes.testing.strategies import *  # pyright: ignore[reportWildcardImportFromLibrary] # noqa: F403 - its `__all__` is the list, and the only one
