import type { EndpointName } from "../../../src/model/endpoints.ts";
import type { StrictResponse } from "./answer.ts";
import { jsonResponse, notFound } from "./answer.ts";
import type { Row } from "./check-call.ts";
import { platformOperationOf } from "./platform-facts.ts";
import { sampleOf } from "./sample.ts";
import type { SampleKind } from "./sample.ts";
import { readMultipart } from "./read-multipart.ts";
import { contentTypeOf, jsonOf } from "./received-request.ts";
import type { ReceivedRequest } from "./received-request.ts";

/** Types of responses that the platform's description lacks and its documentation names. */
const alsoAnswered: Readonly<Partial<Record<EndpointName, string>>> = {
  readSharedRun: "@RunSchema",
  addAnnotationQueueRunsByKey: "array<@AnnotationQueueRunSchema>",
  setTenantHandle: "@app__hub__crud__tenants__Tenant",
};

/** A view, of which the platform's description has nothing. */
function sampleView(kind: SampleKind) {
  const text = kind === "nulls" ? null : "text";
  const id = sampleOf("uuid", kind);
  const time = sampleOf("date-time", kind);
  const filters = { filter_string: text, trace_filter_string: text, tree_filter_string: text };
  const times = { created_at: time, updated_at: time };
  return { id, session_id: id, display_name: "view", description: text, ...filters, ...times };
}

/** The response of a server that stores nothing: a sample of the platform's type, or a value that a client requires. */
export function sampleResponse(
  row: Row,
  request: ReceivedRequest,
  kind: SampleKind,
): StrictResponse {
  const { name, endpoint } = row;
  const { path, query } = request;
  const type = platformOperationOf(endpoint)?.answer ?? alsoAnswered[name] ?? "any";
  const sample = sampleOf(type, kind);
  switch (name) {
    case "searchDataset":
      return jsonResponse(200, { examples: [sampleOf("@Example", kind)] });
    case "createFeedbackToken":
      // As many samples as were requested, as a list if the request was a list.
      return jsonResponse(200, Array.isArray(jsonOf(request.body)?.value) ? [sample] : sample);
    case "createExamples":
      return jsonResponse(
        200,
        submittedExamples(request).map(() => sampleOf("@Example", kind)),
      );
    case "uploadExamples":
      return jsonResponse(201, { ...(sample as object), count: submittedExamples(request).length });
    case "readSettings":
    case "setTenantHandle":
      return jsonResponse(200, { ...(sample as object), tenant_handle: "mill" });
    case "listDatasets":
      // A dataset with this name must not exist yet.
      return jsonResponse(200, query.get("name") === "cloned" ? [] : sample);
    case "readPrompt":
      return path.endsWith("/fresh") ? notFound : jsonResponse(200, sample);
    case "listViews":
      return jsonResponse(200, [sampleView(kind)]);
    case "createView":
    case "readView":
    case "updateView":
      return jsonResponse(200, sampleView(kind));
    default:
      return jsonResponse(200, sample);
  }
}

/** One entry for each example in the request, which is a list or has one part per id. */
function submittedExamples(request: ReceivedRequest): readonly unknown[] {
  const list = jsonOf(request.body)?.value;
  return Array.isArray(list)
    ? list
    : readMultipart(contentTypeOf(request), request.body).parts.filter(
        ({ name }) => !name.includes("."),
      );
}
