import type { ExampleImportTask } from "./examples/example-tasks.ts";
import type { FastifyReply, FastifyRequest } from "fastify";
import { disableIdleTimeout } from "../http/disable-idle-timeout.ts";
import { joinChunks, readBodyChunks, isLarge } from "../bodies/read-body.ts";
import { serverLimits } from "../model/options.ts";
import { differenceKinds } from "./dataset.ts";
import type { Dataset } from "./dataset.ts";
import type { VersionTime } from "./dataset-version.ts";
import type { ExamplePreview } from "./examples/example.ts";
import type { DatasetStore } from "./dataset-store.ts";
import { toPreviewJson } from "./examples/example-preview-json.ts";
import { toIso } from "../http/wire-text.ts";
import { parseImport } from "./examples/parse/parse-examples.ts";
import type { WorkThreads } from "../storage/work-threads.ts";
import { findVersionTime, readAsOf } from "./as-of.ts";
import { readDatasetId, findDataset } from "./dataset-handlers.ts";
import { parseOneOf, parsePage } from "./dataset-query.ts";
import { parseExampleQuery } from "./examples/example-query.ts";
import { firstValue, parseBoolean } from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";

/**
 * `GET /ui/datasets/{id}/examples`: lists examples with only the beginnings of their payloads, because payloads may be
 * large.
 */
export async function previewExamples(
  store: DatasetStore,
  request: FastifyRequest,
): Promise<unknown> {
  const query = request.query as QueryString;
  const dataset = await findDataset(store, request);
  const scope = {
    datasetId: dataset.id,
    versionTime: await findVersionTime(store, dataset, readAsOf(query)),
  };
  const previews = await store.read.examples.preview(
    request.tenantId,
    parseExampleQuery(query, scope),
    serverLimits.previewChars,
  );
  return previews.map(toPreviewJson);
}

/**
 * `GET /ui/datasets/{id}/diff`: returns the number of differences of each kind, and one page of the examples that
 * differ. Each example has the beginnings of its payloads in both versions. With `from_empty`, the later version is
 * compared with a dataset without examples. `number` is the number of the later version, counted from the first.
 */
export async function previewDatasetDiff(
  store: DatasetStore,
  request: FastifyRequest,
): Promise<unknown> {
  const query = request.query as QueryString;
  const dataset = await findDataset(store, request);
  const fromTime =
    parseBoolean(query, "from_empty") === true
      ? 0
      : await findVersionTime(store, dataset, readAsOf(query, "from"));
  const toTime = await findVersionTime(store, dataset, readAsOf(query, "to"));
  const kind = firstValue(query, "kind") ?? "";
  const { countByKind, changes } = await store.read.datasets.diffPage(
    request.tenantId,
    dataset.id,
    {
      from: fromTime,
      to: toTime,
      ...(kind !== "" && { kind: parseOneOf(kind, differenceKinds, "kind") }),
      ...parsePage(query),
    },
  );
  const ids = changes.map(({ id }) => id);
  const previewsBefore = await readPreviews(store, request, { ids, versionTime: fromTime });
  const previewsAfter = await readPreviews(store, request, { ids, versionTime: toTime });
  return {
    number: await store.read.datasets.countVersions(request.tenantId, dataset.id, toTime),
    author: await readAuthorJson(store, dataset, toTime),
    from_author: fromTime === 0 ? null : await readAuthorJson(store, dataset, fromTime),
    counts: countByKind,
    changes: changes.map((change) => ({
      id: change.id,
      kind: change.kind,
      before: previewsBefore.get(change.id) ?? null,
      after: previewsAfter.get(change.id) ?? null,
    })),
  };
}

async function readAuthorJson(
  store: DatasetStore,
  { tenantId, id }: Pick<Dataset, "tenantId" | "id">,
  time: VersionTime,
): Promise<unknown> {
  const author = await store.read.datasets.readVersionAuthor(tenantId, id, time);
  return author && { name: author.name, key_name: author.keyName, client: author.client };
}

async function readPreviews(
  store: DatasetStore,
  request: FastifyRequest,
  { ids, versionTime }: { readonly ids: readonly string[]; readonly versionTime: VersionTime },
): Promise<ReadonlyMap<string, ReturnType<typeof toPreviewJson>>> {
  const previews: readonly ExamplePreview[] = await store.read.examples.preview(
    request.tenantId,
    {
      filter: { datasetId: readDatasetId(request), versionTime, ids },
      order: "id",
      isDescending: false,
      seed: 0,
      limit: ids.length,
      offset: 0,
    },
    serverLimits.previewChars,
  );
  return new Map(previews.map((preview) => [preview.id, toPreviewJson(preview)]));
}

/**
 * `POST /ui/datasets/{id}/import`: stores the valid examples of a list as one version, and returns why each invalid one
 * was rejected.
 */
export async function importExamples(
  { store, work }: { readonly store: DatasetStore; readonly work: WorkThreads },
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { tenantId } = request;
  const { id: datasetId } = await findDataset(store, request);
  const chunks = await readBodyChunks(request.raw);
  disableIdleTimeout(request, reply);
  const parsed = isLarge(chunks, serverLimits.largeExamplesBytes)
    ? await work.run<ExampleImportTask>(tenantId, { kind: "exampleImport", chunks, datasetId })
    : parseImport(datasetId, joinChunks(chunks));
  const result = await store.write.largeExamples.import(tenantId, datasetId, parsed.parts);
  const rowIndexesById = new Map(parsed.rowIndexes);
  const invalidRows = Object.entries(result.rejected).map(([id, reason]) => ({
    index: rowIndexesById.get(id) ?? 0,
    reason,
  }));
  const micros = result.datasets[datasetId]?.micros;
  return reply.send({
    count: result.count,
    as_of: micros === undefined ? null : toIso(micros),
    rejected: [...parsed.rejected, ...invalidRows].toSorted((a, b) => a.index - b.index),
  });
}
