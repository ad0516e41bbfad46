"""The routes, one module for each section of the API. A route parses, calls the kernel and renders."""
