import * as fc from "fast-check";
import { v5 } from "uuid";
import { expect, test } from "vitest";
import { contentHead, idOfKey, idOfNamed } from "../../src/uploads/row-id.ts";

test("an id of a key or content is its standard version 5 UUID", () => {
  fc.assert(
    fc.property(fc.uuid(), fc.string({ unit: "binary" }), (datasetId, text) => {
      expect(idOfKey(datasetId, text)).toBe(v5(`key:${text}`, datasetId));
      const bytes = Buffer.concat([contentHead(datasetId), Buffer.from(text)]);
      const name = Buffer.concat([Buffer.from("content:"), Buffer.from(text)]);
      expect(idOfNamed(bytes)).toBe(v5(name, datasetId));
    }),
  );
});
