// Starts and closes a server; nothing of it may keep the process alive, and preloads must not run in its threads.
import { startServer } from "@millrace/server";

const server = await startServer({ port: 0, dataDir: process.argv[2] });
await fetch(`${server.url}/info`).then((response) => response.text());
await server.close();
process.stdout.write("closed\n");
