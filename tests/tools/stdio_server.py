"""A small MCP server: JSON-RPC on standard streams, with only the standard library."""

import json
import os
import sys
from typing import Any

TOOLS = {
    "add": "Add two numbers.",
    "surroundings": "What of the environment is seen here.",
    "count": "How often this was asked, and by which process.",
    "leave": "Go away in the middle of a call.",
}

COUNTED: list[int] = []


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """Return the result of a request, or None for an unknown method."""
    match method, params.get("name"):
        case "initialize", _:
            version = params["protocolVersion"]
            about = {"name": "desk", "version": "1"}
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
        case "tools/list", _:
            form = {"type": "object", "properties": {}}
            return {"tools": [{"name": n, "description": d, "inputSchema": form} for n, d in TOOLS.items()]}
        case "tools/call", "add":
            return text_result(str(params["arguments"]["first"] + params["arguments"]["second"]))
        case "tools/call", "surroundings":
            return text_result(",".join(name for name in ("GIVEN", "OPENAI_API_KEY") if name in os.environ))
        case "tools/call", "count":
            COUNTED.append(1)
            return text_result(f"{len(COUNTED)} {os.getpid()}")
        case "tools/call", "leave":
            os._exit(3)
    return None


def text_result(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": False}


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        result = answer(request["method"], request.get("params", {}))
        unknown = {"error": {"code": -32601, "message": "Method not found"}}
        body = unknown if result is None else {"result": result}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **body}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
