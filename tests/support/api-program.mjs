// Creates a client, makes one call, and prints whether networking code was loaded before and after it: of Node's modules,
// only undici loads http2. Then the process ends naturally.
import { Client } from "millrace";

const isLoaded = () => process.moduleLoadList.includes("NativeModule http2");

const client = new Client({ endpoint: process.argv[2] });
const before = isLoaded();
const has = await client.projects.has({ projectName: "default" });
console.log(JSON.stringify({ before, has, after: isLoaded() }));
