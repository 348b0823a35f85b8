// The local server in a process of its own: says its address, and runs until it is killed.
import { startServer } from "@millrace/server";

const [, , dataDir] = process.argv;
const server = await startServer({ port: 0, dataDir });
process.stdout.write(`${server.url}\n`);
