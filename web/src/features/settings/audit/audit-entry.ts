import {
  parseChoice,
  requireItems,
  requireText,
  toItems,
  toNumber,
  toRecord,
  toText,
} from "../../../api/parse.ts";
import { parseTimeMs } from "../../../components/time/time.ts";
import { auditOutcomes } from "./audit-search.ts";
import type { AuditOutcome } from "./audit-search.ts";

/** One line of the audit log. */
export interface AuditEntry {
  readonly id: string;
  readonly timeMs: number;
  readonly tenantId: string;
  /** The value of the actor filter that selects all entries of this actor. */
  readonly actor: string;
  readonly actorKind: string;
  readonly actorName: string;
  /** The IP address of the client; `undefined` for a command on the server's machine. */
  readonly address: string | undefined;
  readonly action: string;
  /** What the action does, such as "create key". */
  readonly title: string;
  readonly target: string;
  readonly outcome: AuditOutcome;
  /** The HTTP status of the response; `undefined` if the action took effect. */
  readonly status: number | undefined;
  readonly requestId: string | undefined;
}

export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  /** The cursor of the next page; `undefined` on the last page. */
  readonly next: string | undefined;
  /** Days for which the server keeps entries. */
  readonly keptDays: number;
  /** All actions that the server records. */
  readonly actions: readonly { readonly name: string; readonly title: string }[];
}

/** @throws TypeError the response is not a page of the audit log. */
export function parseAuditPage(value: unknown): AuditPage {
  const page = toRecord(value);
  const actions = nameActions(
    toItems(page["actions"]).map((item) => {
      const action = toRecord(item);
      return { name: requireText(action, "name"), title: requireText(action, "title") };
    }),
  );
  const titles = new Map(actions.map(({ name, title }) => [name, title]));
  return {
    entries: requireItems(page["entries"], "audit entries").map((item) => {
      const entry = parseEntry(item);
      return { ...entry, title: titles.get(entry.action) ?? entry.title };
    }),
    next: toText(page["next_cursor"]),
    keptDays: toNumber(page["kept_days"]) ?? 0,
    actions,
  };
}

/** The words that distinguish an action from another action to which the server gives the same title. */
const variants: Readonly<Record<string, string>> = {
  uploadExamples: "upload",
  updateUploadedExamples: "upload",
  removeExamples: "upload API",
  addAnnotationQueueRunsByKey: "by key",
  shareV2Run: "API v2",
  unshareV2Run: "API v2",
};

/**
 * Makes the titles of the actions differ. Two actions with the same title can't share an entry of the filter menu,
 * because the server filters by only one action.
 */
function nameActions(actions: AuditPage["actions"]): AuditPage["actions"] {
  const usedTitles = new Set<string>();
  return actions.map(({ name, title: words }) => {
    const variant = variants[name] ?? (usedTitles.has(words) ? name : undefined);
    const title = variant === undefined ? words : `${words} (${variant})`;
    usedTitles.add(title);
    return { name, title };
  });
}

function parseEntry(value: unknown): AuditEntry {
  const entry = toRecord(value);
  const actor = toRecord(entry["actor"]);
  const kind = requireText(actor, "kind");
  const name = toText(actor["name"]) ?? "";
  return {
    id: requireText(entry, "id"),
    timeMs: parseTimeMs(requireText(entry, "time")) ?? 0,
    tenantId: requireText(entry, "tenant_id"),
    actor: toText(actor["id"]) ?? (name === "" ? kind : name),
    actorKind: kind,
    actorName: describeActor(kind, name),
    address: toText(entry["address"]),
    action: requireText(entry, "action"),
    title: requireText(entry, "title"),
    target: requireText(entry, "target"),
    outcome: parseChoice(entry["outcome"], auditOutcomes) ?? "failed",
    status: toNumber(entry["status"]),
    requestId: toText(entry["request_id"]),
  };
}

function describeActor(kind: string, name: string): string {
  switch (kind) {
    case "open":
      return "No key";
    case "command":
      return `Command by ${name}`;
    default:
      return name === "" ? "Unnamed key" : name;
  }
}

export const outcomeLabels: { readonly [Outcome in AuditOutcome]: string } = {
  succeeded: "Succeeded",
  denied: "Denied",
  failed: "Failed",
};
