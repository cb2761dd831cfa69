"""Talking to a server: HTTP and SSE, arrival stamps, load shapes."""
