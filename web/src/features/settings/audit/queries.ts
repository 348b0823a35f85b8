import { infiniteQueryOptions } from "@tanstack/react-query";
import { toEndpointPath } from "../../../api/endpoint-path.ts";
import { getBlob, getJson } from "../../../api/http.ts";
import { parseAuditPage } from "./audit-entry.ts";
import type { AuditPage } from "./audit-entry.ts";
import { toAuditQuery } from "./audit-search.ts";
import type { AuditSearch } from "./audit-search.ts";

const entriesPerPage = 100;

/** The entries of the audit log that match the filters, the latest first, in pages. */
export const createAuditQuery = (search: AuditSearch) =>
  infiniteQueryOptions({
    queryKey: ["audit", search],
    queryFn: async ({ pageParam, signal }) => {
      const query = toAuditQuery(search);
      query.set("limit", String(entriesPerPage));
      if (pageParam !== "") {
        query.set("cursor", pageParam);
      }
      return parseAuditPage(
        await getJson(`${toEndpointPath("/ui/audit")}?${query.toString()}`, signal),
      );
    },
    initialPageParam: "",
    getNextPageParam: ({ next }: AuditPage) => next,
  });

/** Downloads the entries that match the filters, as JSON Lines. */
export const downloadAudit = async (search: AuditSearch): Promise<Blob> =>
  getBlob(`${toEndpointPath("/ui/audit/export")}?${toAuditQuery(search).toString()}`);
