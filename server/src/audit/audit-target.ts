import type { FastifyRequest } from "fastify";
import type { AuditedAction } from "../http/endpoint-audit.ts";
import type { AuditEntry } from "../model/audit-entry.ts";
import { auditLimits } from "./audit.ts";

/** Describes what a request concerns: the parameters of its path, and the ids that its body or query names. */
export function describeTarget(
  request: Pick<FastifyRequest, "params" | "query" | "body">,
  { targets = [] }: AuditedAction,
): string {
  const parameters = Object.values(request.params as Readonly<Record<string, unknown>>);
  const named = targets.flatMap((path) =>
    [request.query, request.body].flatMap((source) => readPath(source, path.split("."))),
  );
  const parts = [...parameters, ...named].filter(
    (part): part is string => typeof part === "string" && part !== "",
  );
  return joinTargets([...new Set(parts)]);
}

/** The values at a path of member names. The path continues in each item of a list. */
function readPath(value: unknown, [name, ...innerNames]: readonly string[]): readonly unknown[] {
  if (Array.isArray(value)) {
    const items: readonly unknown[] = value;
    return name === undefined
      ? items
      : items.flatMap((item) => readPath(item, [name, ...innerNames]));
  }
  return name === undefined ? [value] : readPath(readMember(value, name), innerNames);
}

/** Joins ids and names, at most as many and as long as an entry may contain. */
function joinTargets(parts: readonly string[]): string {
  const { targetParts, targetPartChars, targetChars } = auditLimits;
  const shown = parts.slice(0, targetParts).map((part) => part.slice(0, targetPartChars));
  const hiddenCount = parts.length - shown.length;
  const text = [...shown, ...(hiddenCount > 0 ? [`and ${hiddenCount} more`] : [])].join(", ");
  return text.length > targetChars ? `${text.slice(0, targetChars)}…` : text;
}

const readMember = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;

/**
 * Adds to an entry the id of what its write has created. A result may be the resource itself, or contain it as a
 * member.
 */
export function addCreatedId(entry: AuditEntry, result: unknown): AuditEntry {
  const id =
    findId(result) ??
    (typeof result === "object" && result !== null
      ? Object.values(result)
          .map(findId)
          .find((found) => found !== undefined)
      : undefined);
  return id === undefined || entry.target.includes(id)
    ? entry
    : { ...entry, target: entry.target === "" ? id : `${entry.target}, ${id}` };
}

function findId(value: unknown): string | undefined {
  const id = readMember(value, "id");
  return typeof id === "string" ? id : undefined;
}
