#!/usr/bin/env node
import { runCommand } from "./command.ts";

// What reads the output, such as `head`, may end first. The command then goes on without it: an upload completes, and a
// server keeps running.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") {
      throw error;
    }
  });
}

process.exitCode = await runCommand(process.argv, process.env);
