"""An agent that answers with an image and a file, and names what it was sent."""

from segue import Attach, OpenTurn

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + b"\x00" * 20
TABLE = b"a,b\n1,2\n"


async def drawing(turn: OpenTurn) -> str:
    if "draw" in turn.text:
        kernel, chat = turn.kernel, turn.via
        for name, data in (("chart.png", PNG), ("table.csv", TABLE)):
            await turn.tell(Attach(await kernel.files.add(chat.key, name, data, owner=chat.owner)))
        return "" if "only" in turn.text else "Here it is."
    return f"{turn.text}: {', '.join(file.media_type for file in turn.parts) or 'nothing'}"
