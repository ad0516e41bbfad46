"""Configuration of a process: from `segue.toml`, then `SEGUE_…` in the environment, then flags.

The CLI and the server call `Configuration.load()`; the kernel takes `configuration.kernel_settings()` and
does not read files or variables. An error is a `BadSetting` that names where the value came from.
"""

from segue.config.fields import ApiKey, Configuration, LogFormat, McpServer, Role
from segue.config.parts import Secret, WrongValue
from segue.config.stored_model import ModelConnection, ModelProvider, StoredModel

__all__ = [
    "ApiKey",
    "Configuration",
    "LogFormat",
    "McpServer",
    "ModelConnection",
    "ModelProvider",
    "Role",
    "Secret",
    "StoredModel",
    "WrongValue",
]
