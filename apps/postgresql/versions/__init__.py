"""The versions of a PostgreSQL store's tables, one module each, which alembic runs.

A released version is never changed.
"""
