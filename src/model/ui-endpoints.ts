import type { Endpoint } from "./endpoints.ts";

/**
 * What the page asks of the local server beyond the platform's calls. They belong to this version of
 * page and server, and are in no description of the API.
 */
export const uiEndpoints = {
  readLive: { method: "GET", path: "/ui/live", action: "watch what arrives" },

  previewExamples: {
    method: "GET",
    path: "/ui/datasets/:id/examples",
    action: "read previews of examples",
  },
  previewDatasetDiff: {
    method: "GET",
    path: "/ui/datasets/:id/diff",
    action: "compare dataset versions",
  },
  importExamples: { method: "POST", path: "/ui/datasets/:id/import", action: "import examples" },
} as const satisfies Record<string, Endpoint>;

export type UiEndpointName = keyof typeof uiEndpoints;
