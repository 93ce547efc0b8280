"""What has happened: events, what replaying them gives, and how they are written down."""
