import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { parse } from "yaml";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { repositoryRoot } from "./installed.ts";
import { startLocalRegistry } from "./local-registry.ts";
import type { LocalRegistry } from "./local-registry.ts";
import { openShell } from "./shell.ts";
import type { Running, Shell } from "./shell.ts";

// What deploy/ contains is executed here as far as a machine without containers can: the commands of the image's last
// stage in an empty folder, and those of the units by hand.

const run = promisify(execFile);
const deployFolder = join(repositoryRoot, "deploy");
const readDeployed = (file: string): Promise<string> => readFile(join(deployFolder, file), "utf8");

interface Instruction {
  readonly name: string;
  readonly value: string;
}

/** The instructions of the last stage of the Dockerfile. */
async function readLastStage(): Promise<readonly Instruction[]> {
  const lines = (await readDeployed("Dockerfile")).replaceAll("\\\n", " ").split("\n");
  const instructions = lines.flatMap((line) => {
    const [, name, value] = /^([A-Z]+) +(.*)$/.exec(line) ?? [];
    return name === undefined || value === undefined ? [] : [{ name, value }];
  });
  return instructions.slice(instructions.findLastIndex(({ name }) => name === "FROM"));
}

/** The variables that the last stage sets, such as `MILLRACE_HOST=0.0.0.0`. */
const readVariables = (stage: readonly Instruction[]): Record<string, string> =>
  Object.fromEntries(
    stage
      .filter(({ name }) => name === "ENV")
      .flatMap(({ value }) => value.split(" "))
      .map((pair) => pair.split("=") as [string, string]),
  );

const parseArguments = (stage: readonly Instruction[], name: string): readonly string[] => {
  const { value = "" } = stage.find((instruction) => instruction.name === name) ?? {};
  return JSON.parse(value.slice(value.indexOf("["))) as readonly string[];
};

const quote = (argument: string): string => `'${argument.replaceAll("'", String.raw`'\''`)}'`;

let registry: LocalRegistry;
let shell: Shell;

beforeAll(async () => {
  registry = await startLocalRegistry();
  shell = await openShell(registry.environment);
  const stage = await readLastStage();
  const install = stage.find(({ value }) => value.includes("npm install"))?.value ?? "";
  const packages = inject("packedPackages");
  const folder = await mkdtemp(join(tmpdir(), "millrace-image-"));
  const names = packages.packages.filter(({ name }) => name !== "@millrace/langsmith");
  await Promise.all(
    names.map(({ filename }) => cp(join(packages.folder, filename), join(folder, filename))),
  );
  const { code, stderr } = await shell.run(
    // The cache belongs to this machine.
    install.replaceAll("/packages", folder).replace("npm cache clean --force", "true"),
  );
  await rm(folder, { recursive: true });
  if (code !== 0 || stderr !== "") {
    throw new Error(`the packages were not installed: ${stderr}`);
  }
  await mkdir(join(shell.folder, "data"));
  await writeFile(join(shell.folder, "keys"), "key-of-a-service\n", { mode: 0o600 });
}, 180_000);

afterAll(async () => {
  await shell?.[Symbol.asyncDispose]();
  await registry?.[Symbol.asyncDispose]();
});

async function statusOf(url: string, key: string): Promise<number> {
  const response = await fetch(`${url}/api/v1/sessions`, { headers: { "x-api-key": key } });
  await response.body?.cancel();
  return response.status;
}

/** Waits until the server has started. */
async function expectServing(server: Running): Promise<string> {
  const [url] = await server.waitFor(/http:\/\/127\.0\.0\.1:\d+/);
  expect(await statusOf(url, "key-of-a-service")).toBe(200);
  expect(await statusOf(url, "another-key")).toBe(401);
  return url;
}

describe("the image", () => {
  test("its server starts with its variables, is healthy, and ends cleanly on SIGTERM", async () => {
    const stage = await readLastStage();
    const { MILLRACE_HOST: host, ...variables } = readVariables(stage);
    expect(host).toBe("0.0.0.0");
    const environment = Object.entries({
      ...variables,
      MILLRACE_DATA_DIR: "data",
      MILLRACE_API_KEY_FILE: "keys",
      MILLRACE_PORT: "0",
    }).map(([name, value]) => `${name}=${value}`);
    const command = parseArguments(stage, "CMD").map(quote).join(" ");
    const server = shell.start(`${environment.join(" ")} exec ${command}`);
    const url = await expectServing(server);
    const check = parseArguments(stage, "HEALTHCHECK").map(quote).join(" ");
    const healthy = await shell.run(`MILLRACE_PORT=${new URL(url).port} ${check}`);
    expect(healthy).toEqual({ code: 0, signal: null, stdout: "", stderr: "" });
    server.kill("SIGTERM");
    expect(await server.ended).toMatchObject({ code: 0, signal: null });
    expect(await shell.run(`MILLRACE_PORT=${new URL(url).port} ${check}`)).toMatchObject({
      code: 1,
    });
  });

  test("its build uses scripts and folders that exist", async () => {
    const { scripts } = JSON.parse(
      await readFile(join(repositoryRoot, "package.json"), "utf8"),
    ) as { readonly scripts: Readonly<Record<string, string>> };
    const text = await readDeployed("Dockerfile");
    const names = [...text.matchAll(/npm run (\S+)/g)].map(([, name]) => String(name));
    expect(names).toEqual(["build"]);
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(names));
    const [, folders = ""] = /--pack-destination \/packages (.*)$/m.exec(text) ?? [];
    expect(folders.split(" ")).toEqual([".", "./server", "./cli"]);
  });

  test("what compose.yaml refers to is declared there, or in the Dockerfile", async () => {
    const { services, volumes, secrets } = parse(await readDeployed("compose.yaml")) as {
      readonly services: Readonly<
        Record<
          string,
          {
            readonly build: { readonly context: string; readonly dockerfile: string };
            readonly volumes: readonly string[];
            readonly secrets: readonly string[];
            readonly ports: readonly string[];
          }
        >
      >;
      readonly volumes: Readonly<Record<string, unknown>>;
      readonly secrets: Readonly<Record<string, unknown>>;
    };
    const variables = readVariables(await readLastStage());
    expect(Object.keys(services)).toEqual(["millrace"]);
    for (const service of Object.values(services)) {
      const { context, dockerfile } = service.build;
      const file = join(deployFolder, context, dockerfile);
      expect(await readFile(file, "utf8")).toBe(await readDeployed("Dockerfile"));
      const mounts = service.volumes.map((mount) => mount.split(":"));
      expect(mounts.map(([name]) => name)).toEqual(Object.keys(volumes));
      expect(mounts.map(([, path]) => path)).toEqual([variables["MILLRACE_DATA_DIR"]]);
      expect(service.secrets).toEqual(Object.keys(secrets));
      const paths = service.secrets.map((name) => `/run/secrets/${name}`);
      expect(paths).toEqual([variables["MILLRACE_API_KEY_FILE"]]);
      expect(service.ports).toEqual(["127.0.0.1:1984:1984"]);
    }
  });
});

describe("the units of systemd", () => {
  const readCommands = async (unit: string): Promise<readonly string[]> =>
    [...(await readDeployed(`systemd/${unit}`)).matchAll(/^ExecStart=(.*)$/gm)].map(([, command]) =>
      String(command)
        .replaceAll("/opt/millrace", shell.folder)
        .replaceAll("/var/lib/millrace-backups", join(shell.folder, "backups"))
        .replaceAll("/var/lib/millrace", join(shell.folder, "data"))
        .replaceAll("%%", "%"),
    );

  test("systemd accepts them without a warning, and finds little that they could do without", async () => {
    const folder = await mkdtemp(join(tmpdir(), "millrace-units-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    await cp(join(deployFolder, "systemd"), folder, { recursive: true });
    const units = (await readdir(folder)).map((name) => join(folder, name));
    expect(units).toHaveLength(3);
    expect(await run("systemd-analyze", ["verify", ...units])).toEqual({ stdout: "", stderr: "" });
    const service = join(folder, "millrace.service");
    // The scale ends at 10, for a service that may do everything.
    await run("systemd-analyze", ["security", "--offline=true", "--threshold=20", service]);
  });

  test("the server starts and ends as its unit says, and its backup is made meanwhile", async () => {
    const [command = "", ...others] = await readCommands("millrace.service");
    expect(others).toEqual([]);
    const environment = `STATE_DIRECTORY=${shell.folder}/data CREDENTIALS_DIRECTORY=${shell.folder}`;
    const server = shell.start(`export ${environment}; exec ${command} --port 0`);
    await expectServing(server);
    const backups = join(shell.folder, "backups");
    await mkdir(backups);
    const oldBackup = join(backups, "2020-01-01T000000Z.db");
    await writeFile(oldBackup, "");
    await utimes(oldBackup, 0, 0);
    for (const step of await readCommands("millrace-backup.service")) {
      // systemd passes `*` on as it is.
      expect(await shell.run(`set -f; ${step}`)).toMatchObject({ code: 0, stderr: "" });
    }
    const names = await readdir(backups);
    expect(names).toEqual([expect.stringMatching(/^\d{4}-\d\d-\d\dT\d{6}Z\.db$/)]);
    server.kill("SIGTERM");
    expect(await server.ended).toMatchObject({ code: 0, signal: null });
    const restored = await shell.run(
      `npx millrace restore ${join(backups, String(names[0]))} --data restored`,
    );
    // The key of the links is to be kept elsewhere; the unit does not copy it.
    const notice = expect.stringMatching(/^the folder has no token\.key: .*\n$/) as unknown;
    expect(restored).toMatchObject({ code: 0, stderr: notice });
  });
});
