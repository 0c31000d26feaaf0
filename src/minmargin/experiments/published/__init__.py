"""Published tables, played again by their own rules, with what they report beside what comes out here."""
