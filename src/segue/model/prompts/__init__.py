"""The prompts of scheduled turns: named, versioned templates, and how one is filled.

A prompt is rendered from stored facts when its turn starts. It is given to the agent and kept with the run's
record, and it is never a message of the conversation. Rendering is a pure function, so that any process can
do it again and come to the same text.
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
