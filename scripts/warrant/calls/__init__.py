"""The calling chain: from a prompt to a request, its key, the response store, a provider and the parsed answer."""
