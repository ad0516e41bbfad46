"""Adapters: an agent of a framework as Segue's agent, one module each, which imports its framework.

from segue.adapters.pydantic_ai import adapt
kernel = Kernel("sqlite:///agent.db", agent=adapt(my_agent))
"""
