import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import type { ComparativeDraft, ComparisonQuery } from "../comparative.ts";
import { comparativeQueries } from "../comparative-queries.ts";
import { ComparativeReader } from "../comparative-reader.ts";
import { ComparativeWriter } from "../comparative-writer.ts";
import {
  describeRepositories,
  otherId,
  strangeText,
  tenantId,
} from "../../../tests/support/repository-fixture.ts";

describeRepositories({ comparativeQueries }, (fixture) => {
  describe("comparative experiments", () => {
    const dataset = randomUUID();
    beforeEach(() =>
      fixture.exec(`INSERT INTO projects (id, tenant_id, name_json, start_us, reference_dataset_id) VALUES
        ('a', '${tenantId}', '"a \\u0000"', 1, '${dataset}'), ('b', '${tenantId}', '"b"', 1, '${dataset}'),
        ('other', '${tenantId}', '"o"', 1, '${randomUUID()}'), ('none', '${tenantId}', '"n"', 1, NULL)`),
    );
    const draft = (rest: Partial<ComparativeDraft> = {}): ComparativeDraft => ({
      id: randomUUID(),
      name: null,
      description: null,
      experimentIds: ["b", "a"],
      datasetId: null,
      extra: null,
      createdMicros: null,
      ...rest,
    });
    const create = (rest: Partial<ComparativeDraft> = {}, tenant = tenantId) =>
      fixture.write(() => new ComparativeWriter(fixture.db).create(tenant, draft(rest)));
    const list = (query: Partial<ComparisonQuery> = {}) =>
      new ComparativeReader(fixture.db).list(tenantId, {
        datasetId: dataset,
        sortBy: "name",
        isDescending: false,
        limit: 100,
        offset: 0,
        ...query,
      });

    test("are created once, on one dataset", async () => {
      const first = draft({
        name: strangeText,
        description: strangeText,
        extra: { [strangeText]: 1 },
        createdMicros: 5,
      });
      const created = await create(first);
      const { experimentIds: _ids, ...kept } = first;
      expect(created).toEqual({
        ...kept,
        tenantId,
        datasetId: dataset,
        modifiedMicros: 5,
        experiments: [
          { id: "b", name: "b" },
          { id: "a", name: "a \u0000" },
        ],
      });
      expect(await create(first)).toEqual(created);
      await expect(create({ ...first, extra: null })).rejects.toMatchObject({ status: 409 });
      const refused = [
        [["a", "x"], 404, "Experiments not found: x"],
        [["a", "other"], 422, `Experiments are not on dataset ${dataset}: other`],
        [["none"], 422, "A reference dataset is required"],
      ] as const;
      for (const [experimentIds, status, message] of refused) {
        await expect(create({ experimentIds })).rejects.toMatchObject({ status, message });
      }
      await expect(create({}, otherId)).rejects.toMatchObject({ status: 404 });
      await fixture.exec("DELETE FROM projects WHERE id = 'b'");
      expect((await list()).map(({ experiments }) => experiments.length)).toEqual([1]);
    });

    test("are listed by filter, in order and in pages", async () => {
      const names = async (query: Partial<ComparisonQuery> = {}) =>
        (await list(query)).map(({ name }) => name);
      const { id } = await create({ name: "b", createdMicros: 1 });
      await create({ name: "A", createdMicros: 2 });
      await create({ createdMicros: 3 });
      expect(await names()).toEqual([null, "A", "b"]);
      expect(await names({ isDescending: true, limit: 2, offset: 1 })).toEqual(["A", null]);
      expect(await names({ sortBy: "created_at" })).toEqual(["b", "A", null]);
      expect(await names({ ids: [id, randomUUID()] })).toEqual(["b"]);
      expect(await names({ name: "A" })).toEqual(["A"]);
      expect(await names({ nameContains: "a" })).toEqual(["A"]);
      expect(await names({ datasetId: randomUUID() })).toEqual([]);
    });
  });
});
