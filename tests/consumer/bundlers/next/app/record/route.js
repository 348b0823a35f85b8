import { Client } from "millrace";

export const dynamic = "force-dynamic";

let workers = 0;
process.on("worker", () => (workers += 1));
const client = new Client({ endpoint: process.env.ENDPOINT ?? "http://127.0.0.1:9" });

export async function GET() {
  await client.flush(); // after its first flush a client sends from a worker only
  client.startRun({ name: "route" }).end({ ok: true });
  const { delivered } = await client.flush({ timeoutMs: 10_000 });
  return Response.json({ delivered, threaded: workers === 1 });
}
