// Runs the local server as a separate process: prints its address, and serves until it is killed.
import { startServer } from "@millrace/server";

const [, , dataDir] = process.argv;
const server = await startServer({ port: 0, dataDir });
process.stdout.write(`${server.url}\n`);
