#!/usr/bin/env node
import { runCommand } from "./command.ts";

// Keys reach the command by option or by environment; nothing else reads either.
process.exitCode = await runCommand(process.argv, process.env);
