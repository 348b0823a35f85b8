import { startFakeApi } from "./fake-api.ts";
import type { FakeApi, FakeRoute } from "./fake-api.ts";

type Json = Readonly<Record<string, unknown>>;

/** The content of a fake of Langfuse. */
export interface LangfuseContent {
  readonly traces: readonly Json[];
  readonly observations: readonly Json[];
  readonly scores: readonly Json[];
  readonly datasets: readonly Json[];
  readonly items: readonly Json[];
  /** The versions of prompts. */
  readonly prompts: readonly Json[];
  readonly media: Readonly<Record<string, Buffer>>;
}

export const publicKey = "pk-lf-1";
export const secretKey = "sk-lf-secret";

const project = "cm-project-1";
const time = "2024-05-01T10:00:00.000Z";

export const createTrace = (trace: Json): Json => ({
  timestamp: time,
  name: "answer",
  input: null,
  output: null,
  sessionId: null,
  release: null,
  version: null,
  userId: null,
  metadata: {},
  tags: [],
  public: false,
  environment: "default",
  htmlPath: `/project/${project}/traces/x`,
  latency: 1,
  totalCost: 0,
  ...trace,
});

export const createObservation = (observation: Json): Json => ({
  traceId: null,
  type: "SPAN",
  name: "step",
  startTime: time,
  endTime: null,
  completionStartTime: null,
  model: null,
  modelParameters: {},
  input: null,
  version: null,
  metadata: {},
  output: null,
  usage: { input: 0, output: 0, total: 0, unit: null },
  level: "DEFAULT",
  statusMessage: null,
  parentObservationId: null,
  promptId: null,
  usageDetails: {},
  costDetails: {},
  environment: "default",
  promptName: null,
  promptVersion: null,
  modelId: null,
  inputPrice: null,
  outputPrice: null,
  totalPrice: null,
  calculatedInputCost: null,
  calculatedOutputCost: null,
  calculatedTotalCost: null,
  latency: null,
  timeToFirstToken: null,
  ...observation,
});

export const createScore = (score: Json): Json => ({
  traceId: null,
  sessionId: null,
  observationId: null,
  datasetRunId: null,
  name: "quality",
  source: "API",
  timestamp: time,
  createdAt: time,
  updatedAt: time,
  authorUserId: null,
  comment: null,
  metadata: {},
  configId: null,
  queueId: null,
  environment: "default",
  ...score,
});

/** Starts a fake of Langfuse: of version 3, or of version 4, which has no traces but a list of all observations. */
export function startFakeLangfuse(content: LangfuseContent, version: 3 | 4 = 3): Promise<FakeApi> {
  const credentials = Buffer.from(`${publicKey}:${secretKey}`).toString("base64");
  return startFakeApi({
    fixture: "langfuse-api.json",
    hasKey: ({ authorization }) => authorization === `Basic ${credentials}`,
    isOpen: (path) => path === "/api/public/health" || path.startsWith("/files/"),
    routes: [
      ...commonRoutes(content),
      ...(version === 3 ? thirdRoutes(content) : fourthRoutes(content)),
    ],
  });
}

const get = (
  path: string,
  respond: FakeRoute["respond"],
  pattern = path.replaceAll(/\{\w+\}/g, "([^/]+)"),
): FakeRoute => ({
  operation: `GET /api/public${path}`,
  method: "GET",
  path: new RegExp(`^/api/public${pattern}$`),
  respond,
});

/** Selects a page by the number of the page. */
function toPage(rows: readonly Json[], query: URLSearchParams): Json {
  const [page, limit] = [Number(query.get("page") ?? 1), Number(query.get("limit") ?? 50)];
  if (limit > 100) {
    throw new Error(`a limit of ${limit} is refused`);
  }
  return {
    data: rows.slice((page - 1) * limit, page * limit),
    meta: { page, limit, totalItems: rows.length, totalPages: Math.ceil(rows.length / limit) },
  };
}

/** Selects a page by a cursor. */
function toCursorPage(rows: readonly Json[], query: URLSearchParams, maxLimit: number): Json {
  const [start, limit] = [Number(query.get("cursor") ?? 0), Number(query.get("limit") ?? 50)];
  if (limit > maxLimit) {
    throw new Error(`a limit of ${limit} is refused`);
  }
  const end = start + limit;
  return {
    data: rows.slice(start, end),
    meta: { limit, ...(end < rows.length ? { cursor: String(end) } : {}) },
  };
}

const commonRoutes = ({
  datasets,
  items,
  prompts,
  media,
}: LangfuseContent): readonly FakeRoute[] => [
  get("/health", () => ({ version: "3.100.0", status: "OK" })),
  get("/projects", () => ({
    data: [
      {
        id: project,
        name: "support",
        organization: { id: "org", name: "Org" },
        metadata: {},
      },
    ],
  })),
  get("/v2/datasets", ({ query }) => toPage(datasets, query)),
  get("/dataset-items", ({ query }) =>
    toPage(
      items.filter(({ datasetName }) => datasetName === query.get("datasetName")),
      query,
    ),
  ),
  get("/v2/prompts", ({ query }) => toPage(toPromptList(prompts), query)),
  get("/v2/prompts/{promptName}", ({ params: [name], query }) =>
    prompts.find(
      (prompt) => prompt["name"] === name && String(prompt["version"]) === query.get("version"),
    ),
  ),
  get("/media/{mediaId}", ({ params: [id = ""], url }) =>
    media[id] === undefined
      ? undefined
      : {
          mediaId: id,
          contentType: "image/png",
          contentLength: media[id].length,
          uploadedAt: time,
          url: `${url}/files/${id}?signature=hidden`,
          urlExpiry: time,
        },
  ),
  {
    method: "GET",
    path: /^\/files\/(.+)$/,
    respond: ({ params: [id = ""] }) => media[id],
  },
];

function toPromptList(prompts: readonly Json[]): readonly Json[] {
  const names = [...new Set(prompts.map(({ name }) => name))];
  return names.map((name) => {
    const versions = prompts.filter((prompt) => prompt["name"] === name);
    return {
      name,
      type: versions[0]?.["type"],
      versions: versions.map(({ version }) => version),
      labels: versions.flatMap(({ labels }) => labels as readonly string[]),
      tags: versions[0]?.["tags"],
      lastUpdatedAt: time,
      lastConfig: {},
    };
  });
}

/** Selects the rows of a time span, as the names of the parameters say. */
function inSpan(
  rows: readonly Json[],
  query: URLSearchParams,
  { member, from, to }: { readonly member: string; readonly from: string; readonly to: string },
): readonly Json[] {
  const [since, until] = [query.get(from) ?? "", query.get(to) ?? "9"];
  return rows.filter((row) => {
    const at = String(row[member]);
    return at >= since && at < until;
  });
}

const scoreSpan = { member: "timestamp", from: "fromTimestamp", to: "toTimestamp" };

const thirdRoutes = ({ traces, observations, scores }: LangfuseContent): readonly FakeRoute[] => [
  get("/traces", ({ query }) =>
    toPage(
      inSpan(traces, query, scoreSpan).toSorted((a, b) =>
        String(a["timestamp"]).localeCompare(String(b["timestamp"])),
      ),
      query,
    ),
  ),
  get("/observations", ({ query }) =>
    // The newest first.
    toPage(
      observations.filter(({ traceId }) => traceId === query.get("traceId")).toReversed(),
      query,
    ),
  ),
  get("/v2/scores", ({ query }) => toPage(inSpan(scores, query, scoreSpan), query)),
];

const fourthRoutes = ({ traces, observations, scores }: LangfuseContent): readonly FakeRoute[] => {
  const span = { member: "startTime", from: "fromStartTime", to: "toStartTime" };
  return [
    get("/v2/observations", ({ query }) => {
      const traceId = query.get("traceId");
      const rows = observations
        .filter((row) => traceId === null || row["traceId"] === traceId)
        .map((row) => toFourthObservation(row, traces))
        .toSorted((a, b) => String(b["startTime"]).localeCompare(String(a["startTime"])));
      return toCursorPage(inSpan(rows, query, span), query, 1_000);
    }),
    get("/v3/scores", ({ query }) =>
      toCursorPage(inSpan(scores, query, scoreSpan).map(toThirdScore), query, 100),
    ),
  ];
};

/** The members of the trace are part of each observation, and values are the JSON texts that were stored. */
function toFourthObservation(observation: Json, traces: readonly Json[]): Json {
  const trace = traces.find(({ id }) => id === observation["traceId"]) ?? {};
  const { model, input, output, usage: _usage, ...rest } = observation;
  const toStored = (value: unknown): unknown =>
    typeof value === "object" && value !== null ? JSON.stringify(value) : value;
  return {
    ...Object.fromEntries(Object.entries(rest).filter(([name]) => !name.startsWith("calculated"))),
    projectId: project,
    providedModelName: model,
    input: toStored(input),
    output: toStored(output),
    sessionId: trace["sessionId"],
    userId: trace["userId"],
    traceName: trace["name"],
    tags: trace["tags"],
    release: trace["release"],
  };
}

function toThirdScore(score: Json): Json {
  const { traceId, observationId, sessionId, stringValue, value, ...rest } = score;
  return {
    ...rest,
    projectId: project,
    value: toThirdValue(score, stringValue ?? value),
    subject: toSubject({ traceId, observationId, sessionId }),
  };
}

const toThirdValue = ({ dataType, value }: Json, text: unknown): unknown => {
  if (dataType === "BOOLEAN") {
    return value === 1;
  }
  return dataType === "NUMERIC" ? value : text;
};

function toSubject({ traceId, observationId, sessionId }: Json): Json {
  if (typeof sessionId === "string") {
    return { kind: "session", id: sessionId };
  }
  return typeof observationId === "string"
    ? { kind: "observation", id: observationId, traceId }
    : { kind: "trace", id: traceId };
}
