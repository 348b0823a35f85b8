/** One bar of the chart: the main-thread CPU time that a client takes for a run. */
export interface Bar {
  readonly client: string;
  readonly micros: number;
}

/** The bars for one workload. */
export interface Panel {
  readonly name: string;
  readonly bars: readonly Bar[];
}

const ownClient = "millrace";
const columns = 2;
const panelWidth = 440;
const labelWidth = 120;
const valueWidth = 80;
const titleHeight = 34;
const barHeight = 14;
const barStep = 22;
const margin = 20;
const headHeight = 48;
const footHeight = 32;

/**
 * Parses the table that the bench `peers` writes to RESULTS.md.
 *
 * @throws RangeError the text has no such table.
 */
export function parseDeliverTable(markdown: string): readonly Panel[] {
  const start = markdown.indexOf("<!-- peers:");
  const end = markdown.indexOf("<!-- end of peers -->");
  if (start === -1 || end === -1) {
    throw new RangeError(
      "RESULTS.md has no results of the bench peers; run npm --prefix bench run peers -- --save",
    );
  }
  // The second table has ratios. Older results have another title for its second column.
  const [firstTable = ""] = markdown
    .slice(start, end)
    .split(/\n\| size \| (?:ours, of|millrace relative to) \|/);
  const panels = new Map<string, Bar[]>();
  for (const [, name = "", client = "", micros = ""] of firstTable.matchAll(
    /^\| (\w+) \| ([\w-]+) \| ([\d.,]+) /gm,
  )) {
    const bars = panels.get(name) ?? [];
    bars.push({ client, micros: Number(micros.replaceAll(",", "")) });
    panels.set(name, bars);
  }
  return [...panels].map(([name, bars]) => ({ name, bars }));
}

/** The Node version, machine and commit of the results of `peers`. */
export function parseOrigin(markdown: string): string {
  return /<!-- peers:[^]*?\n## [^\n]*\n\n[^\n]*\n([^\n]*)/.exec(markdown)?.[1] ?? "";
}

/** Draws the chart as a self-contained SVG with colors for light and dark mode. */
export function drawChart(panels: readonly Panel[], origin = ""): string {
  const maxBars = Math.max(0, ...panels.map(({ bars }) => bars.length));
  const panelHeight = titleHeight + maxBars * barStep + margin;
  const width = columns * (panelWidth + margin) + margin;
  const height = headHeight + Math.ceil(panels.length / columns) * panelHeight + footHeight;
  const drawn = panels.map((panel, index) => {
    const x = margin + (index % columns) * (panelWidth + margin);
    const y = headHeight + Math.floor(index / columns) * panelHeight;
    return `<g transform="translate(${x} ${y})">${drawPanel(panel)}</g>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title">`,
    `<title id="title">Main-thread CPU for one run, by client and size; shorter is better</title>`,
    `<style>${style}</style>`,
    `<rect class="page" width="${width}" height="${height}"/>`,
    createText("head", { x: margin, y: 30 }, "Main-thread CPU per run, µs (shorter is better)"),
    ...drawn,
    createText("origin", { x: margin, y: height - 12 }, origin),
    "</svg>\n",
  ].join("\n");
}

const style = [
  "text{font:12px system-ui,sans-serif;fill:#1f2933}",
  ".head{font-size:16px;font-weight:600}.name{font-size:13px;font-weight:600}",
  ".origin{font-size:10px;opacity:.7}.label{text-anchor:end}.page{fill:#fff}.bar{fill:#a3b1c2}.ours{fill:#0b7285}",
  "@media(prefers-color-scheme:dark){text{fill:#e4e9ef}.page{fill:#14181d}.bar{fill:#5b6b7d}.ours{fill:#3bc9db}}",
].join("");

function drawPanel({ name, bars }: Panel): string {
  const sorted = bars.toSorted((a, b) => a.micros - b.micros);
  const longest = Math.max(...bars.map(({ micros }) => micros));
  const maxBarWidth = panelWidth - labelWidth - valueWidth;
  return [
    createText("name", { x: 0, y: 18 }, name),
    ...sorted.map(({ client, micros }, row) => {
      const y = titleHeight + row * barStep;
      const length = Math.max(1, (micros / longest) * maxBarWidth).toFixed(1);
      const kind = client === ownClient ? "bar ours" : "bar";
      const baseline = y + barHeight - 3;
      return [
        createText("label", { x: labelWidth - 8, y: baseline }, client),
        `<rect class="${kind}" x="${labelWidth}" y="${y}" width="${length}" height="${barHeight}" rx="2"/>`,
        createText(
          "value",
          { x: labelWidth + Number(length) + 6, y: baseline },
          formatMicros(micros),
        ),
      ].join("");
    }),
  ].join("");
}

const formatMicros = (micros: number): string =>
  Number(micros.toPrecision(3)).toLocaleString("en-US");

const createText = (
  kind: string,
  { x, y }: { readonly x: number; readonly y: number },
  content: string,
): string =>
  `<text class="${kind}" x="${x}" y="${y}">${content.replaceAll("&", "&amp;").replaceAll("<", "&lt;")}</text>`;
