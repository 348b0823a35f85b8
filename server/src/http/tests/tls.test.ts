import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../tests/support/running-server.ts";
import { readTlsContext, TlsReloader } from "../tls.ts";
import type { TlsContext } from "../tls.ts";

const fixtures = fileURLToPath(new URL("../../../../tests/fixtures/tls/", import.meta.url));

test("files that can't be used are reported once, and the previous certificate stays until usable ones follow", async () => {
  const folder = await temporaryFolder();
  const files = { certPath: join(folder, "cert.pem"), keyPath: join(folder, "key.pem") };
  copyFileSync(join(fixtures, "server.pem"), files.certPath);
  copyFileSync(join(fixtures, "server.key"), files.keyPath);
  const used: TlsContext[] = [];
  const server = { setSecureContext: (context: object) => void used.push(context as TlsContext) };
  const warnings: string[] = [];
  const onWarning = ({ message }: Error): void => void warnings.push(message);
  process.on("warning", onWarning);
  const reloader = new TlsReloader(server, {
    files,
    current: readTlsContext(files),
    intervalMs: 5,
  });
  writeFileSync(files.certPath, "half a certificate");
  await expect.poll(() => warnings.length).toBe(1);
  expect(warnings[0]).toMatch(
    /cert\.pem can't be used .*continues to use the previous certificate$/,
  );
  expect(used).toEqual([]);
  copyFileSync(join(fixtures, "other-name.pem"), files.certPath);
  await expect.poll(() => used.length).toBe(1);
  reloader.close();
  process.off("warning", onWarning);
  expect(used[0]).toMatchObject({ minVersion: "TLSv1.2" });
  expect(warnings).toHaveLength(1);
});
