"""warrant: when may a language model's answer be acted on? Pure functions on arrays and tables."""
