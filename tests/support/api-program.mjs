// Creates a client, makes one call, and prints whether undici was loaded before and after it. Then the process ends naturally.
import { createRequire } from "node:module";
import { Client } from "millrace";

const { cache } = createRequire(import.meta.url);
const isLoaded = () => Object.keys(cache).some((path) => /[\\/]undici[\\/]/.test(path));

const client = new Client({ endpoint: process.argv[2] });
const before = isLoaded();
const has = await client.projects.has({ projectName: "default" });
console.log(JSON.stringify({ before, has, after: isLoaded() }));
