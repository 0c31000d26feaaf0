"""The machine room: exact class scores, and the fast looks that dismiss rows before these (see README.md)."""
