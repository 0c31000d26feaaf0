"""The study: every strategy on many real problems, in pairs, and what it says of them."""
