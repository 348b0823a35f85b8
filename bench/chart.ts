// Draws the results of the bench `peers` in RESULTS.md as results.svg: main-thread CPU per run, by size and client.
import { readFileSync, writeFileSync } from "node:fs";
import { drawChart, parseDeliverTable, parseOrigin } from "./chart-svg.ts";

const results = readFileSync(new URL("RESULTS.md", import.meta.url), "utf8");
const file = new URL("results.svg", import.meta.url);
writeFileSync(file, drawChart(parseDeliverTable(results), parseOrigin(results)));
console.log(`Written: ${file.pathname}`);
