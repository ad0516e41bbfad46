"""Prompts of scheduled turns: named, versioned templates, and their rendering.

A prompt is rendered from stored facts when its turn starts. It is given to the agent and stored with the run,
and is never a message of the conversation. Rendering is a pure function: any process can repeat it and gets
the same text.
"""

from segue.model.prompts.fill import (
    PromptFacts,
    PromptRef,
    RenderedPrompt,
    kept,
    prompt_facts_from_json,
    render,
)
from segue.model.prompts.templates import QUIET, TEMPLATES, Mode, Template, newest, template_for

__all__ = [
    "QUIET",
    "TEMPLATES",
    "Mode",
    "PromptFacts",
    "PromptRef",
    "RenderedPrompt",
    "Template",
    "kept",
    "newest",
    "prompt_facts_from_json",
    "render",
    "template_for",
]
