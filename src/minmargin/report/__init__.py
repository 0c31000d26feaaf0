"""Pages for people: one self-contained HTML file each, which asks nothing of any server."""
