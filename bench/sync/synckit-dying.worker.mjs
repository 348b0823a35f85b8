import { runAsWorker } from "synckit";

runAsWorker(() => process.exit(7));
