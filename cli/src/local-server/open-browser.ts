import { spawn } from "node:child_process";

const openCommands: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ["open"],
  win32: ["cmd", "/c", "start", ""],
};

/** Opens a URL in the user's browser. A machine without a browser is not a failure: the URL is printed anyway. */
export function openBrowser(url: string): void {
  const [command = "xdg-open", ...args] = openCommands[process.platform] ?? [];
  const openerProcess = spawn(command, [...args, url], { detached: true, stdio: "ignore" });
  openerProcess.once("error", () =>
    process.stderr.write(`could not open a browser; go to ${url}\n`),
  );
  openerProcess.unref();
}
