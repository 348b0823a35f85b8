import type { Command } from "commander";
import { Option } from "commander";
import { addHelpExamples } from "../examples.ts";
import { addServerFlags } from "../local-server/server-flags.ts";
import type { ServerFlags } from "../local-server/server-flags.ts";
import { toPrintable } from "../to-printable.ts";
import { UsageError } from "../usage-error.ts";

interface AuditFlags extends ServerFlags {
  readonly actor?: string;
  readonly action?: string;
  readonly outcome?: string;
  readonly from?: string;
  readonly to?: string;
  readonly limit: string;
  readonly allTenants?: true;
  readonly json?: true;
}

/** An entry of the audit log, as the server returns it. */
interface AuditEntry {
  readonly time: string;
  readonly action: string;
  readonly target: string;
  readonly actor: {
    readonly kind: string;
    readonly id: string | null;
    readonly name: string | null;
  };
  readonly address: string | null;
  readonly outcome: string;
  readonly status: number | null;
}

interface AuditPage {
  readonly entries: readonly AuditEntry[];
  readonly next_cursor: string | null;
}

const pageSize = 200;
const timeoutMs = 60_000;

export function addAudit(program: Command, env: NodeJS.ProcessEnv): void {
  const command = addServerFlags(
    addHelpExamples(program.command("audit"), [
      "millrace audit",
      "millrace audit --action createKey --from 2026-11-01",
      "millrace audit --limit all --json > audit.jsonl",
    ]),
  )
    .description(
      "Print who created, changed, deleted, shared or exported what, the latest first. Needs an admin key.",
    )
    .option(
      "--actor <actor>",
      "only entries of this actor: the id of a key, or the kind key, option, open or command",
    )
    .option("--action <name>", "only entries of this action, such as createKey")
    .addOption(
      new Option("--outcome <outcome>", "only entries with this outcome").choices([
        "succeeded",
        "denied",
        "failed",
      ]),
    )
    .option("--from <time>", "only entries from this time on")
    .option("--to <time>", "only entries before this time")
    .option("--limit <number>", 'number of entries, or "all"', "50")
    .option("--all-tenants", "entries of all tenants; needs a key of the default tenant")
    .option("--json", "print one JSON object per line");
  command.action(async (flags: AuditFlags) => {
    const limit = parseLimit(flags.limit);
    // Load these modules on demand, so that other commands start faster.
    const { readSettings } = await import("../local-server/settings.ts");
    const { callServer } = await import("../local-server/call-server.ts");
    const settings = readSettings(flags, env);
    const query = toQuery(flags);
    let remaining = limit;
    do {
      query.set("limit", String(Math.min(pageSize, remaining)));
      const page = (await callServer(settings, {
        method: "GET",
        path: `/ui/audit?${query.toString()}`,
        timeoutMs,
      })) as AuditPage;
      const lines = page.entries.map(
        flags.json === true ? (entry) => JSON.stringify(entry) : toLine,
      );
      process.stdout.write(lines.map((line) => `${line}\n`).join(""));
      remaining -= page.entries.length;
      if (page.next_cursor === null) {
        return;
      }
      query.set("cursor", page.next_cursor);
    } while (remaining > 0);
  });
}

function parseLimit(text: string): number {
  if (text === "all") {
    return Number.POSITIVE_INFINITY;
  }
  if (!/^[1-9]\d{0,8}$/.test(text)) {
    throw new UsageError(
      `--limit must be a whole number from 1, or all, not ${JSON.stringify(text)}`,
    );
  }
  return Number(text);
}

function toQuery({ actor, action, outcome, from, to, allTenants }: AuditFlags): URLSearchParams {
  const query = new URLSearchParams();
  const filters = {
    actor,
    action,
    outcome,
    from: parseTime("from", from),
    to: parseTime("to", to),
  };
  for (const [name, value] of Object.entries(filters)) {
    if (value !== undefined) {
      query.set(name, value);
    }
  }
  if (allTenants === true) {
    query.set("all_tenants", "true");
  }
  return query;
}

/** Parses a date or a time. A date is the beginning of its day in UTC. */
function parseTime(flag: string, text: string | undefined): string | undefined {
  if (text === undefined) {
    return undefined;
  }
  const timeMs = Date.parse(text);
  if (Number.isNaN(timeMs)) {
    throw new UsageError(
      `--${flag} must be a date or a time, such as 2026-11-01 or 2026-11-01T09:30:00Z, not ${JSON.stringify(text)}`,
    );
  }
  return new Date(timeMs).toISOString();
}

const toLine = ({ time, action, target, actor, address, outcome, status }: AuditEntry): string =>
  [
    time,
    action,
    toPrintable(target === "" ? "-" : target),
    toPrintable(actor.name === null || actor.name === "" ? (actor.id ?? actor.kind) : actor.name),
    address ?? "local",
    status === null ? outcome : `${outcome} ${status}`,
  ].join("  ");
