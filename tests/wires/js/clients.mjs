// Runs the clients of this folder in one process: its start takes longer than most runs of a client. A connection
// to its socket sends a line of JSON, the client's name and options, and gets what the client prints, to its end.
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { agui } from "./agui.mjs";
import { ui } from "./ui.mjs";

const clients = { agui, ui };

const server = createServer((socket) => {
  const print = (value) => socket.write(JSON.stringify(value) + "\n");
  socket.on("error", () => socket.destroy());
  createInterface({ input: socket }).once("line", async (line) => {
    const { client, ...options } = JSON.parse(line);
    try {
      await clients[client](options, print);
    } catch (error) {
      print({ crashed: error.stack });
    }
    socket.end();
  });
});
server.listen(process.argv[2], () => process.stdout.write("listening\n"));
process.stdin.on("end", () => process.exit()).resume();
