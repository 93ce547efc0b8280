"""The language of an item, for its fence. This module is the only one that knows pygments."""

from pygments.lexers import find_lexer_class_for_filename

_SAID_SHORTER = {"common-lisp": "lisp", "emacs-lisp": "elisp", "docker": "dockerfile", "tsql": "sql"}
"""What a fence calls a language where pygments has another first name for it."""

_READ = 2000
"""How many characters may settle which of several languages with one file ending it is."""


def language_of_file(filename: str, content: str = "") -> str | None:
    """Return the name that a fence gives the language of a file, None if its name says nothing.

    `content` settles endings that several languages share.

    >>> language_of_file("src/math.lisp"), language_of_file("agent.py"), language_of_file("LICENSE")
    ('lisp', 'python', None)
    """
    lexer = find_lexer_class_for_filename(filename, content[:_READ])
    if lexer is None or not lexer.aliases:
        return None
    name = lexer.aliases[0]
    return _SAID_SHORTER.get(name, name)
