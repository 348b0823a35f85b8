import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { parse } from "yaml";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { canRunNats } from "../../server/tests/support/nats-cluster.ts";
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

interface ClusterService {
  readonly image?: string;
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly secrets?: readonly string[];
  readonly ports?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: object;
}

/** Nothing listens on this port, so that a program ends when it can't reach its database. */
const awayStore = "postgres://millrace@127.0.0.1:1/traces";
/** A writer tries to reach its database for fifteen seconds before it ends. */
const awayTimeoutMs = 120_000;

describe("the cluster of compose.cluster.yaml", () => {
  const readCluster = async () =>
    parse(await readDeployed("compose.cluster.yaml"), { merge: true }) as {
      readonly services: Readonly<Record<string, ClusterService>>;
      readonly volumes: Readonly<Record<string, unknown>>;
      readonly secrets: Readonly<Record<string, unknown>>;
    };

  test("what it refers to is declared there, in the environment, or in a file", async () => {
    const { services, volumes, secrets } = await readCluster();
    expect(Object.keys(services).toSorted()).toEqual([
      "nats-a",
      "nats-b",
      "nats-c",
      "postgres",
      "proxy",
      "server-a",
      "server-b",
      "writer-a",
      "writer-b",
    ]);
    for (const [name, service] of Object.entries(services)) {
      expect([service.image, service.build].filter((part) => part !== undefined)).toHaveLength(1);
      const { context = "..", dockerfile = "deploy/Dockerfile" } = service.build ?? {};
      expect(join(deployFolder, context, dockerfile)).toBe(join(deployFolder, "Dockerfile"));
      for (const mount of service.volumes ?? []) {
        const [source = ""] = mount.split(":");
        const isDeclared = source.startsWith("./")
          ? (await readDeployed(source)) !== ""
          : source in volumes;
        expect(`${name} ${source} ${String(isDeclared)}`).toBe(`${name} ${source} true`);
      }
      expect(Object.keys(secrets)).toEqual(expect.arrayContaining([...(service.secrets ?? [])]));
      for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
        // A service is healthy only if something checks it: its own check, or that of the image.
        const isChecked =
          services[other]?.healthcheck !== undefined || services[other]?.build !== undefined;
        expect([condition, isChecked]).toEqual(
          condition === "service_healthy" ? [condition, true] : ["service_started", isChecked],
        );
      }
      // Other machines reach nothing but a proxy that somebody puts in front of it.
      expect((service.ports ?? []).every((port) => port.startsWith("127.0.0.1:"))).toBe(true);
    }
    const text = await readDeployed("compose.cluster.yaml");
    const example = await readDeployed("cluster.env.example");
    for (const [, variable] of text.matchAll(/\$\{(\w+)/g)) {
      expect(example).toMatch(new RegExp(`^#?${String(variable)}=`, "m"));
    }
    expect(await readDeployed("Dockerfile.dockerignore")).toContain("deploy/cluster.env\n");
  });

  test("servers and writers use the database and the log that it contains, with variables that exist", async () => {
    const { services } = await readCluster();
    const help = (await shell.run("npx millrace serve --help")).stdout.replaceAll(/\s+/g, " ");
    for (const name of ["server-a", "server-b", "writer-a", "writer-b"]) {
      const { environment = {} } = services[name] ?? {};
      for (const variable of Object.keys(environment)) {
        expect(help).toContain(variable);
      }
      const { hostname, pathname } = new URL(
        String(environment["MILLRACE_STORE_URL"]).replaceAll(/\$\{[^}]*\}/g, "x"),
      );
      expect([hostname, pathname]).toEqual(["postgres", "/traces"]);
      const hosts = String(environment["MILLRACE_LOG"]).replace(/^.*@/, "").split(",");
      expect(hosts).toEqual(["nats-a:4222", "nats-b:4222", "nats-c:4222"]);
    }
    expect(services["server-a"]?.environment?.["MILLRACE_LOG_WRITER"]).toBe("separate");
    const proxied = [...(await readDeployed("nginx/nginx.conf")).matchAll(/server (\S+):1984/g)];
    expect(proxied.map(([, host]) => host)).toEqual(["server-a", "server-b"]);
  });

  test.skipIf(!canRunNats)(
    "NATS accepts the configuration with the command of its servers",
    async () => {
      const { services } = await readCluster();
      const folder = await mkdtemp(join(tmpdir(), "millrace-nats-"));
      onTestFinished(() => rm(folder, { recursive: true, force: true }));
      const file = join(folder, "nats.conf");
      // NATS 2.9 refuses this line; the image has 2.10.
      const config = (await readDeployed("nats/nats.conf")).replace(/^ *sync_interval:.*$/m, "");
      await writeFile(file, config);
      for (const name of ["nats-a", "nats-b", "nats-c"]) {
        const { command = [], image, environment } = services[name] ?? {};
        expect([image, Object.keys(environment ?? {})]).toEqual([
          "nats:2.10",
          ["NATS_NAME", "NATS_PASSWORD"],
        ]);
        const flags = command.map((part) => (part === "/etc/nats/nats.conf" ? file : part));
        const { stderr } = await run("nats-server", ["-t", ...flags], {
          env: { ...process.env, NATS_NAME: name, NATS_PASSWORD: "secret" },
        });
        expect(stderr).toContain("is valid");
      }
    },
  );

  test(
    "the writers' command starts, and says that the database can't be reached",
    async () => {
      const { services } = await readCluster();
      const command = (services["writer-a"]?.command ?? []).map(quote).join(" ");
      const result = await shell.run(
        `MILLRACE_STORE_URL=${awayStore} MILLRACE_LOG=nats://127.0.0.1:1 MILLRACE_DATA_DIR=data ${command}`,
      );
      expect(result).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(
          "Failed to open the store at 127.0.0.1:1/traces",
        ) as unknown,
      });
    },
    awayTimeoutMs,
  );
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
    expect(units).toHaveLength(4);
    expect(await run("systemd-analyze", ["verify", ...units])).toEqual({ stdout: "", stderr: "" });
    for (const name of ["millrace.service", "millrace-work.service"]) {
      // The scale ends at 10, for a service that may do everything.
      const service = join(folder, name);
      await run("systemd-analyze", ["security", "--offline=true", "--threshold=20", service]);
    }
  });

  test(
    "the writer starts as its unit says, and says that the database can't be reached",
    async () => {
      const [command = "", ...others] = await readCommands("millrace-work.service");
      expect(others).toEqual([]);
      const environment = `STATE_DIRECTORY=${shell.folder}/data MILLRACE_STORE_URL=${awayStore} MILLRACE_LOG=nats://127.0.0.1:1`;
      expect(await shell.run(`export ${environment}; exec ${command}`)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(
          "Failed to open the store at 127.0.0.1:1/traces",
        ) as unknown,
      });
    },
    awayTimeoutMs,
  );

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
