import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished } from "vitest";

const program = fileURLToPath(new URL("serve-with-model.mjs", import.meta.url));

interface Served {
  readonly url: string;
  readonly token: string;
}

/** Starts a server in a process of its own, with the endpoint `local`. */
export async function serveWithModel(dataDir: string, modelUrl: string) {
  const child = spawn(process.execPath, [program, dataDir, modelUrl], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  const { url, token } = JSON.parse(line) as Served;
  /** Sends a request as the page of the server does. */
  const post = async (path: string, body: object): Promise<unknown> => {
    const headers = {
      "content-type": "application/json",
      origin: url,
      "sec-fetch-site": "same-origin",
      "x-model-token": token,
    };
    const response = await fetch(url + path, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    expect(response.status).toBeLessThan(300);
    return response.json();
  };
  return { url, post, kill };
}

/** A model that repeats the prompt. It holds the answers after the first `free` ones until `release` is called. */
export async function startEchoModel(free: number) {
  const prompts: string[] = [];
  let release = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) {
        chunks.push(chunk as Buffer);
      }
      const { messages } = JSON.parse(Buffer.concat(chunks).toString()) as {
        readonly messages: readonly { readonly content: string }[];
      };
      const content = messages.at(-1)?.content ?? "";
      prompts.push(content);
      if (prompts.length > free) {
        await gate;
      }
      response.writeHead(200, { "content-type": "application/json" });
      response.end(
        JSON.stringify({
          choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
          usage: { prompt_tokens: 1, completion_tokens: 1 },
        }),
      );
    })();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, prompts, release };
}
