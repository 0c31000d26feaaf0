"""The labeled set: rows whose label is known, their labels, and the bootstrap draws that members are trained on."""
