"""The numbers behind the findings of docs/findings.md, each from built tables and published numbers."""
