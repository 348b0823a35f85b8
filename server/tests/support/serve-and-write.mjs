// A server in a process of its own, for tests that end it without warning.
import { startServer } from "@millrace/server";

const server = await startServer({ port: 0, dataDir: process.argv[2] });
process.stdout.write(`${server.url}\n`);
