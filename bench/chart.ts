// What do the figures of RESULTS.md look like? Draws main-thread CPU a run, by size and client, as results.svg.
import { readFileSync, writeFileSync } from "node:fs";
import { drawChart, parseDeliverTable, parseOrigin } from "./chart-svg.ts";

const results = readFileSync(new URL("RESULTS.md", import.meta.url), "utf8");
const file = new URL("results.svg", import.meta.url);
writeFileSync(file, drawChart(parseDeliverTable(results), parseOrigin(results)));
console.log(`Written: ${file.pathname}`);
