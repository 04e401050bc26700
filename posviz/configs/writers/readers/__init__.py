"""One reader per runtime: what an export means to the runtime that it was written for."""
