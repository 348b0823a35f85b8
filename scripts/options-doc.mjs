// Prints docs/options.md from the table of options: node scripts/options-doc.mjs > docs/options.md
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

All are optional: \`new Client({ ... })\`. What is given counts before the environment, and the environment
before the default. Of several variables the first that is set counts; an empty one is unset. The environment is
read once, when the client is made. Switches take true, yes, on and 1, or false, no, off and 0, in any case.

**A bad value in the program** throws an \`OptionError\` when the client is made, which names the option, what is allowed and
the value (never the value of a secret).

**A bad variable** never throws. One warning names the variable, its value (never a secret's) and what is allowed, and
\`stats().warnings.badVariable\` counts it. Then

| Variable of | What happens |
| --- | --- |
| \`hideInputs\`, \`hideOutputs\`, \`hideMetadata\` | that payload is withheld |
| \`redact\` | inputs, outputs and metadata are withheld, and all other text of a run is masked |
| \`endpoint\`, \`apiKey\`, \`workspaceId\`, \`ca\`, \`cert\`, \`key\`, a proxy on the way | nothing is sent: records are counted as lost, \`misconfigured\` (or kept in \`spoolDir\`), calls of the API throw an \`OptionError\` |
| any other option | its default holds, and tracing goes on |

| Option | Default | Allowed | Variables | What it is for |
| --- | --- | --- | --- | --- |
${rows.join("\n")}

Two more have no variable: \`headers\` (an object: sent with every request; it can't replace the key's header)
and \`logger\` (\`{ warn(message), error?, info?, debug? }\`; \`warn\` takes the levels that have no function of their own.
By default messages go to standard error, each kind once a minute). \`logLevel\` says which: see
[delivery.md](delivery.md#what-is-logged).

This page is printed from the table: \`node scripts/options-doc.mjs > docs/options.md\`.
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
