"""The versions of a PostgreSQL store's tables, one module each, as alembic runs them.

What has been released is never changed.
"""
