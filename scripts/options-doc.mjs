// Generates docs/options.md from the table of options: node scripts/options-doc.mjs > docs/options.md
import { pathToFileURL } from "node:url";

/**
 * @param {Readonly<Record<string, import("../src/model/options/option-row.ts").OptionRow>>} table
 * @returns {string}
 */
export function renderOptions(table) {
  const rows = Object.entries(table).map(
    ([name, row]) =>
      `| \`${name}\` | ${fallbackOf(row)} | ${rangeOf(row)} | ${row.env.map((v) => `\`${v}\``).join(", ")} | ${row.doc} |`,
  );
  return `# Options

All options are optional: \`new Client({ ... })\`. An option in the program overrides the environment, and the environment
overrides the default. If an option has several variables, the first one that is set is used; an empty variable counts as not set. The environment is
read once, when the client is created. Boolean variables accept true, yes, on and 1, or false, no, off and 0, in any letter case.

**A bad value in the program** throws an \`OptionError\` when the client is created. It names the option, what is allowed and
the value (never the value of a secret).

**A bad variable** never throws. One warning names the variable, its value (never a secret's) and what is allowed, and
\`stats().warnings.badVariable\` counts it. The effect depends on the option:

| Variable of | Effect of a bad value |
| --- | --- |
| \`hideInputs\`, \`hideOutputs\`, \`hideMetadata\` | that payload is withheld |
| \`redact\` | inputs, outputs and metadata are withheld, and all other text of a run is masked |
| \`endpoint\`, \`apiKey\`, \`workspaceId\`, \`ca\`, \`cert\`, \`key\`, a proxy that would be used | nothing is sent: records are counted as lost, \`misconfigured\` (or kept in \`spoolDir\`), and API calls throw an \`OptionError\` |
| any other option | the default is used, and tracing continues |

| Option | Default | Allowed values | Variables | Purpose |
| --- | --- | --- | --- | --- |
${rows.join("\n")}

Two options have no variable: \`headers\` (an object with headers for every request; it can't replace the header of the key)
and \`logger\` (\`{ warn(message), error?, info?, debug? }\`; \`warn\` gets the levels that have no function of their own).
By default, messages go to standard error, each kind at most once a minute. \`logLevel\` chooses which: see
[delivery.md](delivery.md#logging).

This page is generated from the table: \`node scripts/options-doc.mjs > docs/options.md\`.
`;
}

/** @param {import("../src/model/options/option-row.ts").OptionRow} row */
function fallbackOf({ fallback }) {
  return fallback === undefined || Array.isArray(fallback) ? "none" : `\`${grouped(fallback)}\``;
}

/** @param {import("../src/model/options/option-row.ts").OptionRow} row */
function rangeOf(row) {
  switch (row.kind) {
    case "number":
      return `${grouped(row.min)} to ${grouped(row.max)}${row.fraction === true ? "" : ", whole"}`;
    case "text":
      return "text, not empty";
    case "switch":
      return "true, false";
    case "hide":
      return "true, false, a function";
    case "rules":
      return "an array of rules; the variable: names of sets, separated by commas";
    case "choice":
      return row.choices.join(", ");
  }
}

/** @param {unknown} value */
function grouped(value) {
  return typeof value === "number" ? value.toLocaleString("en") : String(value);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const { optionTable } = await import("../dist/model/options/option-table.js");
  process.stdout.write(renderOptions(optionTable));
}
