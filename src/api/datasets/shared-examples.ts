import { extractDetailLines, extractDetail } from "../../model/error-detail.ts";
import { parseExample } from "../../model/resources/example.ts";
import type { Example } from "../../model/resources/example.ts";
import { parseList } from "../../model/fields.ts";
import { validateIds } from "../../model/ids.ts";
import { extractShareToken } from "../../model/links.ts";
import type { FilterSharedExamples, ListSharedExamples } from "./dataset-options.ts";
import { exampleMembers } from "./example-query.ts";
import type { Call } from "../http/http.ts";
import { listByIds, identifyById, listByOffset } from "../http/pages.ts";
import type { Pages } from "../http/pages.ts";
import { toJson } from "../http/request.ts";
import type { QueryValue, HttpErrorResponse } from "../http/request.ts";

/** Which examples of a shared dataset to list, and from which server. */
export interface SharedSource extends ListSharedExamples {
  /** Base address of the server that shares the dataset. @defaultValue the client's own server */
  readonly server?: string | undefined;
  /** Whether to include the addresses of the attachments. @defaultValue false */
  readonly includeAttachments?: boolean | undefined;
}

/** Lists the examples of a shared dataset, on the client's own server or on another. */
export function listSharedExamples(
  call: Call,
  urlOrToken: string,
  { server, includeAttachments = false, ...filter }: SharedSource,
): Pages<Example> {
  const token = extractShareToken(urlOrToken, { resource: "dataset" });
  const { exampleIds, limit, signal } = filter;
  const select = includeAttachments ? exampleMembers : undefined;
  const query = { ...toSharedExampleQuery(filter), select };
  return listByIds(exampleIds, limit, (idChunk, remainingLimit) =>
    listByOffset(
      remainingLimit,
      async (page) => {
        const init = {
          path: { token },
          query: { id: idChunk, ...query, ...page },
          signal,
          server,
          createErrorMessage,
        };
        return parseList(await call("listSharedExamples", init), "examples", parseExample);
      },
      identifyById,
    ),
  );
}

/**
 * Converts a filter to query parameters, without the ids. This function only validates the ids; its callers send them,
 * in several requests if there are many.
 *
 * @throws {@link ValidationError} if an id is not a UUID, or the metadata is not valid JSON.
 */
export function toSharedExampleQuery({
  exampleIds,
  metadata,
  filter,
}: FilterSharedExamples): Readonly<Record<string, QueryValue>> {
  validateIds(exampleIds, "example id");
  return { metadata: metadata && toJson("list shared examples", metadata), filter };
}

/** Creates the error message for a failed request. It begins like the message of LangSmith's client for this case. */
function createErrorMessage({ status, body }: HttpErrorResponse): string {
  const lines = extractDetailLines(body);
  return lines.length === 0
    ? `Failed to list shared examples: ${status} ${extractDetail(body)}`.trimEnd()
    : ["Failed to list shared examples.", `Status: ${status}`, `Message: ${lines.join("\n")}`].join(
        "\n",
      );
}
