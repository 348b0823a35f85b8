#!/usr/bin/env node
import { runCommand } from "./command.ts";

// The program that reads the output, such as `head`, may end before this command. The command then continues: an upload
// completes, and a server keeps running.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") {
      throw error;
    }
  });
}

process.exitCode = await runCommand(process.argv, process.env);
