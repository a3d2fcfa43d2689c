"""One module per table: its declared schema and the pure function that computes its rows."""
