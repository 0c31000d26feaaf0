"""The one loop over a pool, and what surrounds it: shortlists, fragments, engines, checkpoints (see README.md)."""
