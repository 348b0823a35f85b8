// A server in a separate process, for tests that kill it.
import { startServer } from "@millrace/server";

const port = Number(process.env.MILLRACE_TEST_PORT ?? 0);
const server = await startServer({ port, dataDir: process.argv[2] });
process.stdout.write(`${server.url}\n`);
