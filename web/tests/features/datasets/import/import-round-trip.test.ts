import { startServer } from "@millrace/server";
import { Client } from "millrace";
import { expect, onTestFinished, test } from "vitest";
import { previewFile } from "../../../../src/features/datasets/import/import-file.ts";

test("exported cells that begin like formulas are imported unchanged", async () => {
  const server = await startServer({ port: 0, dataDir: ":memory:" });
  const client = new Client({ endpoint: server.url, enabled: false });
  onTestFinished(async () => {
    await client.close();
    await server.close();
  });
  const texts = ["=1+1", "+cmd", "-2+3", "@sum", "\ttab", "\rline", "'=1", "''@x", "-5", "it's"];
  const { id } = await client.datasets.create({ name: "formulae" });
  await client.examples.createMany({
    datasetId: id,
    examples: texts.map((text) => ({
      inputs: { q: text, "=head": "x" },
      outputs: { answer: text },
    })),
  });
  const response = await fetch(`${server.url}/datasets/${id}/csv`);
  const text = await response.text();
  expect(text).toContain("'=1+1");
  const { rows } = await previewFile(new File([text], "formulae.csv"));
  const examples = rows.map((row) => (row.kind === "row" ? row.row : row));
  const byText = (a: unknown, b: unknown): number =>
    JSON.stringify(a).localeCompare(JSON.stringify(b));
  expect(examples.toSorted(byText)).toEqual(
    texts
      .map((cell) => ({ inputs: { q: cell, "=head": "x" }, outputs: { answer: cell } }))
      .toSorted(byText),
  );
});
