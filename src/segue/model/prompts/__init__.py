"""The prompts of scheduled turns: named, versioned templates, and how one is filled.

A prompt is rendered from stored facts when its turn starts. It is given to the agent and kept with the run's
record, and it is never a message of the conversation. Rendering is a pure function, so that any process can
do it again and come to the same text.
"""

from segue.model.prompts.fill import Brief, PromptRef, Rendered, brief_from_json, kept, render
from segue.model.prompts.templates import QUIET, TEMPLATES, Mode, Template, newest, template_for

__all__ = [
    "QUIET",
    "TEMPLATES",
    "Brief",
    "Mode",
    "PromptRef",
    "Rendered",
    "Template",
    "brief_from_json",
    "kept",
    "newest",
    "render",
    "template_for",
]
