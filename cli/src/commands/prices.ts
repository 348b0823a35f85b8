import type { Command } from "commander";
import { addHelpExamples } from "../examples.ts";
import { addServerFlags } from "../local-server/server-flags.ts";
import type { ServerFlags } from "../local-server/server-flags.ts";
import type { Price, PriceClient, PriceKey, Rate } from "../prices/price-client.ts";
import { UsageError } from "../usage-error.ts";

/** The flags that identify a row of the price table. */
interface KeyFlags extends ServerFlags {
  readonly model: string;
  readonly provider?: string;
  readonly tier?: string;
  readonly from?: string;
}

/** For each price: its flag, its name in the price table, and the tokens that it applies to. */
const priceFlags = [
  ["--input <dollars>", "input", "input tokens"],
  ["--output <dollars>", "output", "output tokens"],
  ["--cache-read <dollars>", "cache_read", "input tokens read from a cache"],
  ["--cache-write <dollars>", "cache_write", "input tokens written to a cache"],
  ["--cache-write-1h <dollars>", "cache_write_1h", "tokens cached for an hour"],
  ["--input-audio <dollars>", "input_audio", "audio tokens of the input"],
  ["--output-audio <dollars>", "output_audio", "audio tokens of the output"],
  ["--reasoning <dollars>", "reasoning", "reasoning tokens of the output"],
] as const;

const priceDescription = "price in US dollars per million";

/** Adds `millrace prices list|set|remove|export|import|recompute`. */
export function addPrices(program: Command, env: NodeJS.ProcessEnv): void {
  const prices = program
    .command("prices")
    .description(
      "Override the public prices of models on a server, and recompute the costs of stored runs.",
    );
  addHelpExamples(prices, [
    "millrace prices set --model my-model --input 0.5 --output 1.5",
    "millrace prices recompute",
  ]);
  const addSubcommand = (name: string, examples: readonly string[]): Command =>
    addServerFlags(addHelpExamples(prices.command(name), examples));
  const createClient = async (flags: ServerFlags): Promise<PriceClient> => {
    // Load these modules on demand, so that other commands start faster.
    const { readSettings } = await import("../local-server/settings.ts");
    const { PriceClient: Client } = await import("../prices/price-client.ts");
    return new Client(readSettings(flags, env));
  };
  addSubcommand("list", ["millrace prices list", "millrace prices list --json"])
    .description("List the price table of the server. Public prices apply to all other models.")
    .option("--json", "print one JSON object per line")
    .action(async ({ json, ...flags }: ServerFlags & { json?: true }) => {
      const rows = await (await createClient(flags)).list();
      const lines = rows.map(json === true ? (row) => JSON.stringify(row) : toLine);
      process.stdout.write(lines.map((line) => `${line}\n`).join(""));
    });
  const set = addKeyFlags(
    addSubcommand("set", [
      "millrace prices set --model 'gpt-4o*' --provider azure --input 2 --output 8",
      "millrace prices set --model my-model --tier batch --input 0.1 --output 0.4 --from 2026-07-01",
    ]),
  ).description("Set the prices of a model. They replace all prices of the same row.");
  for (const [flag, , tokens] of priceFlags) {
    set.option(flag, `${priceDescription} ${tokens}`);
  }
  set.option("--request <dollars>", "price in US dollars per thousand requests");
  set.action(async (flags: KeyFlags & Readonly<Record<string, string>>) => {
    const row = { ...toKey(flags), prices: readPrices(flags) };
    const [stored = row] = await (await createClient(flags)).set([row]);
    process.stdout.write(`${toLine(stored)}\n`);
  });
  addKeyFlags(
    addSubcommand("remove", [
      "millrace prices remove --model my-model",
      "millrace prices remove --model 'gpt-4o*' --provider azure",
    ]),
  )
    .description("Remove a row of the price table.")
    .action(async (flags: KeyFlags) => {
      await (await createClient(flags)).remove(toKey(flags));
      process.stdout.write(`removed the prices of ${JSON.stringify(flags.model)}\n`);
    });
  addSubcommand("export", ["millrace prices export > prices.json"])
    .description("Print the price table as JSON, in the format that import reads.")
    .action(async (flags: ServerFlags) => {
      const rows = await (await createClient(flags)).list();
      process.stdout.write(`${JSON.stringify({ prices: rows }, undefined, 2)}\n`);
    });
  addSubcommand("import", [
    "millrace prices import prices.json",
    "millrace prices import prices.json --replace",
  ])
    .description("Add the rows of a JSON file to the price table.")
    .argument("<file>", "JSON file, in the format that export prints")
    .option("--replace", "remove all other rows")
    .action(async (file: string, { replace, ...flags }: ServerFlags & { replace?: true }) => {
      const rows = await readFileRows(file);
      const stored = await (await createClient(flags)).set(rows, { replace: replace === true });
      process.stdout.write(`imported ${stored.length} rows\n`);
    });
  addSubcommand("recompute", ["millrace prices recompute", "millrace prices recompute --restart"])
    .description(
      "Recompute the costs of stored runs with the current prices. An interrupted recomputation is continued.",
    )
    .option("--restart", "start over with the first run, even if an earlier call was interrupted")
    .option("--json", "print the result as JSON")
    .action(async ({ restart, json, ...flags }: ServerFlags & { restart?: true; json?: true }) => {
      const { formatResult, recompute } = await import("../prices/recompute.ts");
      const client = await createClient(flags);
      const result = await recompute(client, {
        restart: restart === true,
        screen: process.stderr,
      });
      process.stdout.write(json === true ? `${JSON.stringify(result)}\n` : formatResult(result));
    });
}

const addKeyFlags = (command: Command): Command =>
  command
    .requiredOption("--model <name>", "name of the model; * stands for any text")
    .option("--provider <name>", "provider that runs must name (default: any)")
    .option("--tier <name>", "service tier of the runs, such as batch (default: standard)")
    .option("--from <date>", "date from which the prices apply (default: always)");

const toKey = ({ model, provider, tier, from }: KeyFlags): PriceKey => ({
  model,
  provider: provider ?? null,
  tier: tier ?? null,
  from: from ?? null,
});

/** Returns the name that Commander gives the option of a price: the name of its flag, in camel case. */
const toOptionName = (kind: string): string =>
  kind.replaceAll(/_(.)/g, (_match, letter: string) => letter.toUpperCase());

function readPrices(flags: Readonly<Record<string, string | undefined>>): Price["prices"] {
  const kinds = [...priceFlags.map(([, kind]) => kind), "request"];
  const entries = kinds.flatMap((kind) => {
    const text = flags[toOptionName(kind)];
    return text === undefined ? [] : [[kind, parseDollars(text, kind)] as const];
  });
  return Object.fromEntries(entries);
}

function parseDollars(text: string, kind: string): number {
  const price = text.trim() === "" ? Number.NaN : Number(text);
  if (!Number.isFinite(price) || price < 0) {
    throw new UsageError(
      `--${kind.replaceAll("_", "-")} must be a number of US dollars such as 2.5, not ${JSON.stringify(text)}`,
    );
  }
  return price;
}

async function readFileRows(path: string): Promise<readonly unknown[]> {
  const { readFile } = await import("node:fs/promises");
  const text = await readFile(path, "utf8");
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new UsageError(`${path} is not JSON: ${String(cause)}`, { cause });
  }
  const rows: unknown =
    typeof json === "object" && json !== null && !Array.isArray(json)
      ? Reflect.get(json, "prices")
      : undefined;
  if (!Array.isArray(rows)) {
    throw new UsageError(
      `${path} must contain an object with the list "prices", as "millrace prices export" prints it`,
    );
  }
  return rows as readonly unknown[];
}

/**
 * Formats a row of the price table as one line. Names of models and providers are printable, because the server accepts
 * only printable ASCII.
 */
const toLine = ({ model, provider, tier, from, prices }: Price): string =>
  [
    model,
    provider ?? "any provider",
    tier ?? "standard",
    from === null ? "always" : `from ${from}`,
    Object.entries(prices)
      .map(([kind, rate]) => `${kind} ${toRateText(rate)}`)
      .join(", "),
  ].join("  ");

const toRateText = (rate: Rate): string =>
  typeof rate === "number"
    ? String(rate)
    : [
        String(rate.base),
        ...rate.tiers.map(({ start, price }) => `${price} above ${start} tokens`),
      ].join(" / ");
