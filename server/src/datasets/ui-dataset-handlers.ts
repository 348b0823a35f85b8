import type { ExampleImportTask } from "./examples/example-tasks.ts";
import type { FastifyReply, FastifyRequest } from "fastify";
import { disableIdleTimeout } from "../http/disable-idle-timeout.ts";
import { joinChunks, readBodyChunks, isLarge } from "../bodies/read-body.ts";
import { serverLimits } from "../model/options.ts";
import { differences } from "./dataset.ts";
import type { Moment } from "./dataset-version.ts";
import type { ExamplePreview } from "./examples/example.ts";
import type { DatasetStore } from "./dataset-store.ts";
import { toPreviewJson } from "./examples/example-preview-json.ts";
import { toIso } from "../http/wire-text.ts";
import { parseImport } from "./examples/parse/parse-examples.ts";
import type { WorkThreads } from "../storage/work-threads.ts";
import { findMoment, readAsOf } from "./as-of.ts";
import { datasetIdOf, findDataset } from "./dataset-handlers.ts";
import { parseOneOf, parsePage } from "./dataset-query.ts";
import { parseExampleQuery } from "./examples/example-query.ts";
import { firstValue } from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";

/** `GET /ui/datasets/{id}/examples`: previews of examples, bounded in size whatever the examples hold. */
export async function previewExamples(
  store: DatasetStore,
  request: FastifyRequest,
): Promise<unknown> {
  const query = request.query as QueryString;
  const dataset = await findDataset(store, request);
  const scope = {
    datasetId: dataset.id,
    moment: await findMoment(store, dataset, readAsOf(query)),
  };
  const found = await store.read.examples.preview(
    request.tenantId,
    parseExampleQuery(query, scope),
    serverLimits.previewChars,
  );
  return found.map(toPreviewJson);
}

/** `GET /ui/datasets/{id}/diff`: counts of differences, and one page of them with previews of both versions. */
export async function previewDatasetDiff(
  store: DatasetStore,
  request: FastifyRequest,
): Promise<unknown> {
  const query = request.query as QueryString;
  const dataset = await findDataset(store, request);
  const from = await findMoment(store, dataset, readAsOf(query, "from"));
  const to = await findMoment(store, dataset, readAsOf(query, "to"));
  const kind = firstValue(query, "kind") ?? "";
  const { counts, changes } = await store.read.datasets.diffPage(request.tenantId, dataset.id, {
    from,
    to,
    ...(kind !== "" && { kind: parseOneOf(kind, differences, "kind") }),
    ...parsePage(query),
  });
  const ids = changes.map(({ id }) => id);
  const before = await previewsAt(store, request, { ids, moment: from });
  const after = await previewsAt(store, request, { ids, moment: to });
  return {
    counts,
    changes: changes.map((change) => ({
      id: change.id,
      kind: change.kind,
      before: before.get(change.id) ?? null,
      after: after.get(change.id) ?? null,
    })),
  };
}

async function previewsAt(
  store: DatasetStore,
  request: FastifyRequest,
  { ids, moment }: { readonly ids: readonly string[]; readonly moment: Moment },
): Promise<ReadonlyMap<string, ReturnType<typeof toPreviewJson>>> {
  const found: readonly ExamplePreview[] = await store.read.examples.preview(
    request.tenantId,
    {
      filter: { datasetId: datasetIdOf(request), moment, ids },
      order: "id",
      isDescending: false,
      seed: 0,
      limit: ids.length,
      offset: 0,
    },
    serverLimits.previewChars,
  );
  return new Map(found.map((preview) => [preview.id, toPreviewJson(preview)]));
}

/**
 * `POST /ui/datasets/{id}/import`: stores the valid examples of a list as one version, and returns why each of the
 * others was rejected.
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
  const written = await store.write.largeExamples.import(tenantId, datasetId, parsed.parts);
  const indexes = new Map(parsed.rows);
  const invalidRows = Object.entries(written.rejected).map(([id, reason]) => ({
    index: indexes.get(id) ?? 0,
    reason,
  }));
  const micros = written.datasets[datasetId]?.micros;
  return reply.send({
    count: written.count,
    as_of: micros === undefined ? null : toIso(micros),
    rejected: [...parsed.rejected, ...invalidRows].toSorted((a, b) => a.index - b.index),
  });
}
