"""The store on a PostgreSQL server, for many machines; needs the extra `postgresql`."""

from polycontext.linearity import require_extra

# Before the import below, so that who lacks one of them is told what to install.
for _module in ("sqlalchemy", "psycopg", "alembic"):
    require_extra(_module, extra="postgresql", purpose="a PostgreSQL store")

from .store import PostgreSQLStore  # noqa: E402

__all__ = ["PostgreSQLStore"]
