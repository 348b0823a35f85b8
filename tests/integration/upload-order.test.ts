import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { setImmediate } from "node:timers/promises";
import { gunzipSync } from "node:zlib";
import { Client } from "millrace";
import type { NewExample, UploadExamples } from "millrace";
import { expect, onTestFinished, test } from "vitest";

const dataset = {
  id: "01890a5d-ac96-774b-bcce-b302099a8057",
  tenant_id: "01890a5d-ac96-774b-bcce-b302099a8058",
  name: "far",
  created_at: "2024-01-02T03:04:05Z",
};

/** A request with rows, and the function that responds to it. */
interface RowRequest {
  readonly numbers: readonly number[];
  readonly bytes: number;
  readonly answer: () => void;
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const body = await buffer(request);
  return request.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body;
}

/** Starts a server that passes each request with rows to a callback, which decides when to respond. */
async function startDelayedServer(onRows: (rowRequest: RowRequest) => void): Promise<Client> {
  const server = createServer((request, response) => {
    const say = (answer: unknown): void => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(answer));
    };
    void (async () => {
      const path = new URL(request.url ?? "", "http://server").pathname;
      const body = await bodyOf(request);
      if (path === "/examples/bulk") {
        const rows = JSON.parse(body.toString()) as readonly { inputs: { n: number } }[];
        const numbers = rows.map(({ inputs }) => inputs.n);
        onRows({ numbers, bytes: body.length, answer: () => say([]) });
      } else {
        say(path === "/datasets" ? [dataset] : {});
      }
    })();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = new Client({
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  });
  onTestFinished(async () => {
    await client.close();
    server.closeAllConnections();
    server.close();
  });
  return client;
}

const settings = { datasetName: "far", chunkCount: 10 } as const;

function* rowsTo(many: number, onTaken: () => void = () => undefined): Generator<NewExample> {
  for (let n = 0; n < many; n++) {
    onTaken();
    yield { inputs: { n } };
  }
}

/** Uploads rows, and responds to two requests at a time, the later one first. Returns the rows in the order of arrival. */
async function upload(
  more: Pick<UploadExamples<NewExample>, "ordered" | "inFlight">,
): Promise<readonly number[]> {
  const arrived: number[] = [];
  let waitingRequests: RowRequest | undefined;
  const pass = ({ numbers, answer }: RowRequest): void => {
    arrived.push(...numbers);
    answer();
  };
  const client = await startDelayedServer((rowRequest) => {
    if (waitingRequests === undefined && more.ordered !== true) {
      waitingRequests = rowRequest;
    } else {
      pass(rowRequest);
      const before = waitingRequests;
      waitingRequests = undefined;
      if (before !== undefined) {
        pass(before);
      }
    }
  });
  expect(await client.examples.upload(rowsTo(100), { ...settings, ...more })).toMatchObject({
    created: 100,
  });
  return arrived;
}

const inOrder = Array.from({ length: 100 }, (_, n) => n);

test("a server that handles the later request first gets rows in another order, unless ordered is set", async () => {
  const loose = await upload({ inFlight: 2 });
  expect(loose).not.toEqual(inOrder);
  expect(loose.toSorted((a, b) => a - b)).toEqual(inOrder);
});

test("with ordered, a request is sent when the previous one was answered", async () => {
  const waiting: RowRequest[] = [];
  const arrived: number[] = [];
  let maxInFlight = 0;
  const client = await startDelayedServer((rowRequest) => {
    waiting.push(rowRequest);
    maxInFlight = Math.max(maxInFlight, waiting.length);
    // A second request, if there is one, arrives while this one waits.
    setTimeout(() => {
      const { numbers, answer } = waiting.pop() ?? rowRequest;
      arrived.push(...numbers);
      answer();
    }, 5);
  });
  await client.examples.upload(rowsTo(100), { ...settings, ordered: true, inFlight: 8 });
  expect(maxInFlight).toBe(1);
  expect(arrived).toEqual(inOrder);
});

test("while a server does not respond, no more is read than the requests in flight and one chunk", async () => {
  let acceptedRows = 0;
  let open = false;
  const waitingRequests: RowRequest[] = [];
  const isFull = new Promise<void>((resolve) => {
    void startDelayedServer((rowRequest) => {
      if (open) {
        rowRequest.answer();
      } else if (waitingRequests.push(rowRequest) === 3) {
        resolve();
      }
    }).then((client) => (uploading = begin(client)));
  });
  let uploading: Promise<unknown> | undefined;
  const begin = (client: Client): Promise<unknown> =>
    client.examples.upload(
      rowsTo(5_000, () => (acceptedRows += 1)),
      { ...settings, inFlight: 3 },
    );
  await isFull;
  // Turns the event loop so that everything that may be read is read; only a response allows more.
  for (let turn = 0; turn < 1_000; turn++) {
    await setImmediate();
  }
  expect(acceptedRows).toBeGreaterThanOrEqual(30);
  expect(acceptedRows).toBeLessThanOrEqual(40);
  open = true;
  waitingRequests.forEach(({ answer }) => answer());
  expect(await uploading).toMatchObject({ read: 5_000, created: 5_000 });
});

test("a request has no more rows than chunkCount, and no more bytes than chunkBytes and a row", async () => {
  const rowRequest: RowRequest[] = [];
  const client = await startDelayedServer((one) => {
    rowRequest.push(one);
    one.answer();
  });
  await client.examples.upload(rowsTo(105), settings);
  expect(rowRequest.map(({ numbers }) => numbers.length).toSorted((a, b) => b - a)).toEqual([
    ...Array.from({ length: 10 }, () => 10),
    5,
  ]);
  rowRequest.length = 0;
  const long = Array.from({ length: 50 }, (_, n) => ({ inputs: { n, text: "x".repeat(1_000) } }));
  await client.examples.upload(long, { datasetName: "far", chunkBytes: 5_000 });
  expect(rowRequest.length).toBeGreaterThan(9);
  expect(Math.max(...rowRequest.map(({ bytes }) => bytes))).toBeLessThan(7_500);
});
