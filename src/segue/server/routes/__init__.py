"""The routes, one file for each section of the contract. A route parses, calls one verb and renders."""
