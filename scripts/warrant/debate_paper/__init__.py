"""The debate paper's printed tables, set against one another: percentages back into counts, and what follows."""
