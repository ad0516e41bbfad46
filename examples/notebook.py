# %% [markdown]
# Segue in a notebook. Open this file as a notebook in VS Code, PyCharm or Jupyter with jupytext.

# %%
from segue import At, OpenTurn, Say
from segue.sync import Kernel


async def agent(turn: OpenTurn) -> str:  # call a model here
    return f"{len(await turn.history())} messages before {turn.text!r}"


kernel = Kernel("sqlite://:memory:", agent=agent).start()

# %%
asked = kernel.receive("notebook:me", "Hello")
print(kernel.wait(asked.turn_id).reply)

# %%
kernel.schedule("notebook:me", At("in 1 second"), Say("A second has passed."))
for event in kernel.follow("notebook:me"):
    if event.type == "message":
        break
print([message.content for message in kernel.messages("notebook:me")][-1])

# %%
kernel.close()

# It prints:
# 0 messages before 'Hello'
# A second has passed.
