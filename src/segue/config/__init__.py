"""The settings of a process: from `segue.toml`, then `SEGUE_…` in the environment, then flags.

`Configuration.load()` is how an edge gets them; the kernel takes `configuration.kernel_settings()` and knows
nothing of files and variables. An error is a `BadSetting` whose sentence names where the value came from.
"""

from segue.config.fields import ApiKey, Configuration, LogFormat, McpServer, Role

__all__ = ["ApiKey", "Configuration", "LogFormat", "McpServer", "Role"]
