import { HttpResponse, http as on } from "msw";
import type { HttpHandler } from "msw";
import { describe, expect, test } from "vitest";
import { createDatasetResources } from "../support/dataset-resources.ts";
import { mswServer } from "../support/msw-server.ts";

const id = "0f0e0d0c-0b0a-4908-8706-050403020100";
const other = "1f0e0d0c-0b0a-4908-8706-050403020100";
const token = "2f0e0d0c-0b0a-4908-8706-050403020100";
const wireDataset = { id, tenant_id: "t", name: "d", data_type: "kv", created_at: "2026-11-21" };
const wireExample = { id: other, dataset_id: id, inputs: { q: 1 }, outputs: null, metadata: null };

describe("sharing", () => {
  test("a share has the URL of its page; a dataset may have no share", async () => {
    const share = { dataset_id: id, share_token: token };
    const answers = [share, null];
    const server = await mswServer(
      on.put("*/share", () => HttpResponse.json(share)),
      on.get("*/share", () => HttpResponse.json(answers.shift() ?? null)),
      on.delete("*/share", () => HttpResponse.json(null)),
    );
    const { datasets } = createDatasetResources(server.endpoint);
    const expected = {
      datasetId: id,
      shareToken: token,
      url: `http://host.test/public/${token}/d`,
    };
    expect(await datasets.share({ datasetId: id })).toEqual(expected);
    expect(await datasets.readShare({ datasetId: id })).toEqual(expected);
    expect(await datasets.readShare({ datasetId: id })).toBeUndefined();
    await datasets.unshare({ datasetId: id });
    expect(server.requests.at(-1)?.target).toBe(`DELETE /datasets/${id}/share`);
  });

  test("a URL is reduced to its token, a token is used unchanged", async () => {
    const server = await mswServer(
      on.get("*/public/:token/datasets", () => HttpResponse.json(wireDataset)),
      on.get("*/public/:token/examples", () => HttpResponse.json([wireExample])),
      on.get("*/public/:token/examples/count", () => HttpResponse.json(4)),
    );
    const { datasets } = createDatasetResources(server.endpoint);
    await datasets.readShared(`https://host.test/public/${token}/d`);
    await datasets.readShared(token);
    await datasets.listSharedExamples(token, { exampleIds: [other], limit: 2 }).toArray();
    expect(await datasets.countSharedExamples(token, { metadata: { a: 1 } })).toBe(4);
    expect(server.requests.map(({ target }) => target)).toEqual([
      `GET /public/${token}/datasets`,
      `GET /public/${token}/datasets`,
      `GET /public/${token}/examples?id=${other}&limit=2&offset=0`,
      `GET /public/${token}/examples/count?metadata=%7B%22a%22%3A1%7D`,
    ]);
  });

  test.each(["", "not an address", "https://host.test", "https://host.test/d", 7])(
    "%j is no public address",
    async (bad) => {
      const server = await mswServer();
      const { datasets } = createDatasetResources(server.endpoint);
      const message =
        "Invalid public dataset URL or token: it is neither a UUID nor a URL with the token in its path. Pass the url or the shareToken that sharing the dataset returned";
      const failed = expect.objectContaining({ code: "VALIDATION", message }) as Error;
      await expect(datasets.readShared(bad as string)).rejects.toEqual(failed);
      await expect(datasets.clone(bad as string)).rejects.toEqual(failed);
      await expect(datasets.countSharedExamples(bad as string)).rejects.toEqual(failed);
      expect(() => datasets.listSharedExamples(bad as string)).toThrow(failed);
      expect(server.requests).toEqual([]);
    },
  );

  test.each([
    [
      404,
      '{"detail":["gone","for good"]}',
      "Failed to list shared examples.\nStatus: 404\nMessage: gone\nfor good",
    ],
    [403, '{"detail":"no"}', "Failed to list shared examples.\nStatus: 403\nMessage: no"],
    [
      422,
      '{"detail":[{"loc":["query","id"],"msg":"bad","type":"t"}]}',
      "Failed to list shared examples.\nStatus: 422\nMessage: query.id: bad",
    ],
    [400, "<html>proxy</html>", "Failed to list shared examples: 400 <html>proxy</html>"],
    [400, "", "Failed to list shared examples: 400"],
  ])(
    "a refused list has the message of the product specification: %i %s",
    async (status, body, message) => {
      const server = await mswServer(
        on.get("*/public/:token/examples", () => new HttpResponse(body, { status })),
      );
      const { datasets } = createDatasetResources(server.endpoint);
      await expect(datasets.listSharedExamples(token).toArray()).rejects.toMatchObject({
        status,
        message,
      });
    },
  );
});

describe("URLs of datasets in the UI", () => {
  test("contain the dataset's tenant, otherwise the key's, otherwise a project's", async () => {
    const bare = { id, name: "d" };
    const projects = [{ id, name: "p", tenant_id: "of-project" }];
    const settings = { id: "of-key", display_name: "n", created_at: "2026-11-21" };
    const refused = () => HttpResponse.json({ detail: "no" }, { status: 403 });
    const urlWith = async (...handlers: readonly HttpHandler[]): Promise<string> => {
      const server = await mswServer(...handlers);
      return createDatasetResources(server.endpoint).datasets.url({ datasetId: id });
    };
    const page = (tenant: string): string => `http://host.test/o/${tenant}/datasets/${id}`;
    expect(await urlWith(on.get("*/datasets/:id", () => HttpResponse.json(wireDataset)))).toBe(
      page("t"),
    );
    const dataset = on.get("*/datasets/:id", () => HttpResponse.json(bare));
    expect(
      await urlWith(
        dataset,
        on.get("*/settings", () => HttpResponse.json(settings)),
      ),
    ).toBe(page("of-key"));
    const noSettings = on.get("*/settings", refused);
    const some = on.get("*/sessions", () => HttpResponse.json(projects));
    expect(await urlWith(dataset, noSettings, some)).toBe(page("of-project"));
    const none = on.get("*/sessions", () => HttpResponse.json([]));
    await expect(urlWith(dataset, noSettings, none)).rejects.toMatchObject({
      code: "NOT_FOUND",
      message:
        "No projects found to resolve tenant. Create one with client.projects.create({ name }), and check the endpoint and the key",
    });
  });
});
