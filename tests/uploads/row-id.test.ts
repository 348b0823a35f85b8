import * as fc from "fast-check";
import { v5 } from "uuid";
import { expect, test } from "vitest";
import { createContentPrefix, createIdFromKey, createUuid5 } from "../../src/uploads/row-id.ts";

test("an id of a key or content is its standard version 5 UUID", () => {
  fc.assert(
    fc.property(fc.uuid(), fc.string({ unit: "binary" }), (datasetId, text) => {
      expect(createIdFromKey(datasetId, text)).toBe(v5(`key:${text}`, datasetId));
      const bytes = Buffer.concat([createContentPrefix(datasetId), Buffer.from(text)]);
      const name = Buffer.concat([Buffer.from("content:"), Buffer.from(text)]);
      expect(createUuid5(bytes)).toBe(v5(name, datasetId));
    }),
  );
});
