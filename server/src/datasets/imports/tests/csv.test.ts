import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { openSqliteStore } from "../../../../dist/store/sqlite-store.js";
import { readCsv } from "../csv.ts";
import { serverLimits } from "../../../model/options.ts";
import { DatasetFixture, itemsOf, textOf } from "../../../../tests/support/dataset-fixture.ts";
import { containing } from "../../../../tests/support/matchers.ts";
import { call, runServer, temporaryFolder } from "../../../../tests/support/running-server.ts";
import type { CallResult } from "../../../../tests/support/running-server.ts";
import { draftDataset } from "../../../../tests/support/dataset-draft.ts";

/** Parses a text that arrives in chunks of the given size. */
async function rowsOf(text: string | Buffer, chunkBytes = 1_000_000): Promise<string[][]> {
  const bytes = Buffer.from(text);
  const chunks = Array.from({ length: Math.ceil(bytes.length / chunkBytes) }, (_, index) =>
    bytes.subarray(index * chunkBytes, (index + 1) * chunkBytes),
  );
  const rows: string[][] = [];
  for await (const page of readCsv(Readable.from(chunks))) {
    rows.push(...page.rows.map((row) => [...row]));
  }
  return rows;
}

const tricky = [
  ["name", "text with, comma", 'say "hi"', "line\r\nline\nline"],
  ["ü€😀", "", '""', " spaces "],
  ["", "", "", ""],
  ["=1+1", "\u0000", "'; DROP TABLE x; --", "<b>"],
];
const quote = (cell: string): string => `"${cell.replaceAll('"', '""')}"`;

test.each(["\n", "\r\n"])(
  "quoted cells stay intact, however the bytes are split: %j",
  async (end) => {
    const text = tricky.map((row) => row.map(quote).join(",")).join(end) + end;
    expect(await rowsOf(text)).toEqual(tricky);
    expect(await rowsOf(`\uFEFF${text}`)).toEqual(tricky);
    for (const size of [60, 61, 64, 97]) {
      expect(await rowsOf(text, size)).toEqual(tricky);
    }
  },
);

test("all three kinds of line breaks end a row, and the last row needs none", async () => {
  for (const end of ["\n", "\r\n", "\r"]) {
    expect(await rowsOf(["a,b", "1,2", "3,4"].join(end))).toEqual([
      ["a", "b"],
      ["1", "2"],
      ["3", "4"],
    ]);
  }
});

test("errors are reported with their row: quotes, bytes, length", async () => {
  await expect(rowsOf('a,b\n1,"2" x,3\n4,5\n')).rejects.toThrow("row 2 of the CSV");
  await expect(rowsOf('a,b\n1,2\n3,"4\n')).rejects.toThrow("row 3 of the CSV");
  await expect(rowsOf(Buffer.from([0x61, 0x0a, 0xff, 0x0a]))).rejects.toThrow("not UTF-8");
  await expect(rowsOf(Buffer.from([0x61, 0x0a, 0xe2]))).rejects.toThrow("not UTF-8");
  const endless = `a,b\n1,"${"x".repeat(serverLimits.csvRowChars)}`;
  await expect(rowsOf(endless)).rejects.toMatchObject({ status: 413 });
});

interface Upload {
  readonly csv: string | Blob;
  readonly fields?: readonly (readonly [string, string])[];
  readonly fileName?: string;
}

/** Builds the form of an upload. */
function formOf({ csv, fields = [["input_keys", "a"]], fileName = "data.csv" }: Upload): FormData {
  const form = new FormData();
  form.append("file", new Blob([csv], { type: "text/csv" }), fileName);
  fields.forEach(([name, value]) => form.append(name, value));
  return form;
}

test("a CSV file becomes a dataset: selected columns, texts unchanged, in the order of the file", async () => {
  const server = await runServer();
  const csv = '\uFEFFa,b,c,d\r\n1,"x\ny",,m1\r\n\r\n"2 ""q""",=1+1,<b>,m2\r\n';
  const fields = [
    ["input_keys", "a"],
    ["input_keys", "b"],
    ["output_keys", "c"],
    ["metadata_keys", "d"],
    ["description", "what it is"],
    ["data_type", "kv"],
  ] as const;
  const created = await call(server, "POST /datasets/upload", { body: formOf({ csv, fields }) });
  expect(created).toMatchObject({
    status: 200,
    json: { name: "data.csv", description: "what it is", data_type: "kv", example_count: 2 },
  });
  const id = textOf(created.json["id"]);
  const { json } = await call(server, `GET /examples?dataset=${id}`);
  expect(json).toMatchObject([
    {
      inputs: { a: "1", b: "x\ny" },
      outputs: { c: "" },
      metadata: { d: "m1", dataset_split: ["base"] },
    },
    { inputs: { a: '2 "q"', b: "=1+1" }, outputs: { c: "<b>" }, metadata: { d: "m2" } },
  ]);
  expect(itemsOf((await call(server, `GET /datasets/${id}/versions`)).json)).toHaveLength(1);
  // The export equals the upload, except for the prefix that keeps a spreadsheet from evaluating a cell.
  const { text, headers } = await call(server, `GET /datasets/${id}/csv`);
  expect(text).toBe('a,b,c\r\n1,"x\ny",\r\n"2 ""q""",\'=1+1,<b>\r\n');
  expect(headers.get("content-type")).toBe("text/csv; charset=utf-8");
  const named = formOf({ csv, fields: [...fields, ["name", "my name"]] });
  expect((await call(server, "POST /datasets/upload", { body: named })).json["name"]).toBe(
    "my name",
  );
  const mapped = formOf({
    csv,
    fileName: "other.csv",
    fields: [
      ["input_keys", "a"],
      ["input_key_mappings", '{"a":"question"}'],
    ],
  });
  const other = textOf((await call(server, "POST /datasets/upload", { body: mapped })).json["id"]);
  expect((await call(server, `GET /examples?dataset=${other}&limit=1`)).json).toMatchObject([
    { inputs: { question: "1" }, outputs: null },
  ]);
});

test("a rejected upload leaves nothing behind, not even its name", async () => {
  const fixture = await DatasetFixture.open();
  const upload = (one: Upload): Promise<CallResult> =>
    fixture.call("POST /datasets/upload", { body: formOf(one) });
  const many = `a,b\n${"1,2\n".repeat(6_000)}`;
  const schema = JSON.stringify({ properties: { a: { maxLength: 3 } } });
  const faults: readonly (readonly [Upload, number, string])[] = [
    [{ csv: "b,c\n1,2\n" }, 422, "no column"],
    [{ csv: "a,a\n1,2\n" }, 422, "twice"],
    [{ csv: `${many}1,2,3\n` }, 422, "row 6002 of the CSV has 3 cells"],
    [{ csv: `${many}1,"2` }, 422, "row 6002"],
    [{ csv: "" }, 422, "file"],
    [{ csv: "a\n1\n", fields: [] }, 422, "input_keys"],
    [
      {
        csv: "a\n1\n",
        fields: [
          ["input_keys", "a"],
          ["data_type", "x"],
        ],
      },
      422,
      "data_type",
    ],
    [
      {
        csv: "a\n1\n",
        fields: [
          ["input_keys", "a"],
          ["name", "d"],
        ],
      },
      409,
      "already exists",
    ],
    [
      {
        csv: `${many}long,2\n`,
        fields: [
          ["input_keys", "a"],
          ["inputs_schema_definition", schema],
        ],
      },
      422,
      "inputs/a",
    ],
    [
      {
        csv: "a\n1\n",
        fields: [
          ["input_keys", "a"],
          ["inputs_schema_definition", "{"],
        ],
      },
      422,
      "not JSON",
    ],
    [
      {
        csv: "a\n1\n",
        fields: [
          ["input_keys", "a"],
          ["name", "x".repeat(1_100_000)],
        ],
      },
      413,
      "field",
    ],
  ];
  for (const [one, status, reason] of faults) {
    const response = await upload(one);
    expect([response.status, response.text]).toEqual([status, containing(reason)]);
  }
  expect(itemsOf((await fixture.call("GET /datasets")).json)).toHaveLength(1);
  expect((await upload({ csv: "a\n1\n" })).status).toBe(200);
  expect(await fixture.call("POST /datasets/upload", { body: "{}" })).toMatchObject({
    status: 422,
  });
  const broken = {
    headers: { "content-type": "multipart/form-data; boundary=x" },
    body: "--x\r\n",
  };
  expect(await fixture.call("POST /datasets/upload", broken)).toMatchObject({ status: 422 });
});

test("an upload that was interrupted by the end of the process is deleted at the next start", async () => {
  const folder = await temporaryFolder();
  const store = await openSqliteStore(folder);
  const draft = draftDataset({ name: "cut off", createdMicros: Date.now() * 1_000 });
  const tenantId = store.defaultTenantId;
  await store.write.uploads.begin(tenantId, draft);
  const row = { inputs: "{}", outputs: null, metadata: '{"dataset_split":["base"]}' };
  await store.write.uploads.extend(tenantId, draft.id, [row]);
  const filter = { datasetId: draft.id, versionTime: null };
  expect(await store.read.datasets.find(tenantId, draft.id)).toBeUndefined();
  expect(await store.read.examples.count(tenantId, filter)).toBe(0);
  await store.close();
  const again = await openSqliteStore(folder);
  onTestFinished(() => again.close());
  await again.write.uploads.begin(tenantId, { ...draft, id: randomUUID() });
  await expect(again.write.uploads.end(tenantId, draft.id)).rejects.toMatchObject({ status: 404 });
});

test("the memory for an upload does not grow with the file", async () => {
  const row = Buffer.from(`${"q".repeat(400)},${"a".repeat(400)}\n`.repeat(1_000));
  const chunks = async function* chunks(count: number) {
    yield Buffer.from("q,a\n");
    for (let index = 0; index < count; index += 1) {
      yield row;
    }
  };
  const peakOf = async (count: number): Promise<{ rows: number; peakBytes: number }> => {
    let rows = 0;
    let peakBytes = 0;
    for await (const page of readCsv(chunks(count))) {
      rows += page.rows.length;
      peakBytes = Math.max(peakBytes, process.memoryUsage().rss);
    }
    return { rows, peakBytes };
  };
  const short = await peakOf(20);
  const long = await peakOf(200);
  expect(long.rows).toBe(200_001);
  // The file has 160 MB; only a few chunks of it may be in memory.
  expect(long.peakBytes - short.peakBytes).toBeLessThan(100 * 1_048_576);
});
