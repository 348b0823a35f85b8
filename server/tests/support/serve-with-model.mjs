// Runs a server that may call one model, as a separate process: prints its address and its token, and serves until it is
// killed.
import { startServer } from "@millrace/server";

const [, , dataDir, url] = process.argv;
const server = await startServer({ port: 0, dataDir, modelEndpoints: [{ name: "local", url }] });
process.stdout.write(`${JSON.stringify({ url: server.url, token: server.modelToken })}\n`);
