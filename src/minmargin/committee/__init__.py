"""The base and K members: how they are trained, what is kept of that, and how they are stored."""
