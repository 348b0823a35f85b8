// Prints docs/options.md from the option table: node scripts/options-doc.mjs > docs/options.md
import { pathToFileURL } from "node:url";

/**
 * @param {Readonly<Record<string, import("../src/model/options/option-row.ts").OptionRow>>} table
 * @param {typeof import("../src/model/options/otlp-options.ts").otlpMembers} otlpMembers
 * @returns {string}
 */
export function renderOptions(table, otlpMembers) {
  const members = Object.entries(otlpMembers).map(
    ([name, { fallback, allowed, doc }]) => `| \`${name}\` | ${fallback} | ${allowed} | ${doc} |`,
  );
  const rows = Object.entries(table).map(
    ([name, row]) =>
      `| \`${name}\` | ${formatDefault(row)} | ${formatRange(row)} | ${row.env.map((v) => `\`${v}\``).join(", ")} | ${row.doc} |`,
  );
  return `# Options

All of them are optional: \`new Client({ ... })\`. A value in the program takes precedence over an environment variable, and a
variable over the default. If an option has several variables, the first one that is set counts; an empty variable counts as
unset. The environment is read once, when the client is created. Switches accept true, yes, on and 1, or false, no, off and 0,
in upper or lower case.

**An invalid value in the program** throws an \`OptionError\` when the client is created. The error names the option, the allowed
values and the given value (except the value of a secret).

**An invalid variable** never throws. One warning names the variable, its value (except the value of a secret) and the allowed
values, and \`stats().warnings.badVariable\` counts it. The effect depends on the option:

| Variable of the option | Effect |
| --- | --- |
| \`hideInputs\`, \`hideOutputs\`, \`hideMetadata\` | that payload is withheld |
| \`redact\` | inputs, outputs and metadata are withheld, and all other text of a run is masked |
| \`endpoint\`, \`apiKey\`, \`workspaceId\`, \`ca\`, \`cert\`, \`key\`, a proxy for the endpoint | nothing is sent: records are kept in \`spoolDir\`, or counted as lost with the reason \`misconfigured\`; API calls throw an \`OptionError\` |
| any other option | the default is used, and tracing continues |

| Option | Default | Allowed | Variables | Description |
| --- | --- | --- | --- | --- |
${rows.join("\n")}

Three options have no variable. \`headers\` is an object of headers to send with every request, such as \`{ "x-team": "a" }\` (not a \`Headers\` or
a \`Map\`); it can't replace the header with the API key. \`logger\` is an object \`{ warn(message), error?, info?, debug? }\`; \`warn\` receives the levels that have no function.
By default messages are written to standard error, each kind at most once a minute. The option \`logLevel\` selects which
messages are logged: see [delivery.md](delivery.md#what-is-logged). \`otlp\` sends runs to an OpenTelemetry backend in place of a Millrace server
([otlp.md](otlp.md#send-runs-to-another-backend)); \`endpoint\`, \`apiKey\`, \`workspaceId\` and their variables then have no effect. It is an object with these members:

| Member | Default | Allowed | Description |
| --- | --- | --- | --- |
${members.join("\n")}

This page is generated from the option table: \`node scripts/options-doc.mjs > docs/options.md\`.
`;
}

/** @param {import("../src/model/options/option-row.ts").OptionRow} row */
function formatDefault({ fallback }) {
  return fallback === undefined || Array.isArray(fallback)
    ? "none"
    : `\`${formatValue(fallback)}\``;
}

/** @param {import("../src/model/options/option-row.ts").OptionRow} row */
function formatRange(row) {
  switch (row.kind) {
    case "number":
      return `${formatValue(row.min)} to ${formatValue(row.max)}${row.fraction === true ? "" : ", whole"}`;
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
function formatValue(value) {
  return typeof value === "number" ? value.toLocaleString("en") : String(value);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const { optionTable } = await import("../dist/model/options/option-table.js");
  const { otlpMembers } = await import("../dist/model/options/otlp-options.js");
  process.stdout.write(renderOptions(optionTable, otlpMembers));
}
