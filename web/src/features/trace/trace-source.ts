import type { ProjectAddress } from "../runs/run-list-search.ts";
import { createSharedTraceRunQuery, createTraceRunQuery } from "./queries.ts";

/** Where a trace is read from: a project, or a share link, with which only the runs of that trace can be read. */
export type TraceSource =
  | { readonly kind: "project"; readonly address: ProjectAddress }
  | { readonly kind: "share"; readonly token: string };

export const createSourceRunQuery = (source: TraceSource, id: string) =>
  source.kind === "project" ? createTraceRunQuery(id) : createSharedTraceRunQuery(source.token, id);
