// The leftovers of a killed run are ended and removed only if they provably belong to that run.
import { expect, test } from "vitest";
import type { Environment } from "../environment/environment.ts";
import type { FileLock } from "../environment/files.ts";
import { simulate } from "../simulation/simulation.ts";
import { makeRunFolder } from "./run-folder.ts";

const ourPid = 10;

/** A machine whose processes are what its files in /proc say. */
class Machine {
  readonly environment: Environment;
  readonly ended: number[] = [];
  readonly #alive = new Set<number>();
  readonly #locks = new Map<number, FileLock>();

  constructor(real: Environment) {
    const isAlive = (pid: number): boolean => this.#alive.has(pid);
    const kill = (pid: number): void => {
      this.#alive.delete(pid);
      this.ended.push(pid);
    };
    const processes = { ...real.processes, pid: ourPid, isAlive, kill } as Environment["processes"];
    this.environment = { ...real, processes };
  }

  async runs(pid: number, startedAt: number, command = "node up"): Promise<void> {
    const { files } = this.environment;
    this.#alive.add(pid);
    await files.makeDirectory(`/proc/${pid}`);
    const before = Array.from({ length: 18 }, () => "0").join(" ");
    await files.write(`/proc/${pid}/stat`, `${pid} (no) de) S ${before} ${startedAt} 0`);
    await files.write(`/proc/${pid}/cmdline`, command.replaceAll(" ", "\0"));
  }

  /** Another run makes its folder as we do. */
  async folderOf(pid: number): Promise<string> {
    const { processes } = this.environment;
    const its = { ...this.environment, processes: { ...processes, pid } };
    const { folder, lock } = await makeRunFolder(its);
    this.#locks.set(pid, lock);
    return folder;
  }

  async hasProxy(folder: string, pid: number): Promise<void> {
    const { files } = this.environment;
    await files.makeDirectory(`${folder}/lockstep-1`);
    await files.write(`${folder}/lockstep-1/nginx.pid`, `${pid}\n`);
  }

  async gone(pid: number): Promise<void> {
    this.#alive.delete(pid);
    await this.#locks.get(pid)?.release();
  }
}

function onMachine(play: (machine: Machine) => Promise<void>): Promise<void> {
  return simulate({ seed: 1 }, async (simulation) => {
    const machine = new Machine(simulation.host("here"));
    await machine.runs(ourPid, 1);
    await play(machine);
  });
}

test("the nginx and the folder of a killed run are removed, with a note", () =>
  onMachine(async (machine) => {
    await machine.runs(20, 2);
    const folder = await machine.folderOf(20);
    await machine.hasProxy(folder, 21);
    await machine.runs(21, 3, `nginx: master process nginx -p ${folder}/lockstep-1 -c x`);
    await machine.gone(20);
    const { cleaned } = await makeRunFolder(machine.environment);
    expect(cleaned).toBe(
      `cleaned up after 1 run that had been killed (nginx ended: 1, removed: ${folder})`,
    );
    expect(machine.ended).toEqual([21]);
    expect(await machine.environment.files.kind(folder)).toBeUndefined();
  }));

test("so does that of a killed run whose pid another process has by now", () =>
  onMachine(async (machine) => {
    await machine.runs(20, 2);
    const folder = await machine.folderOf(20);
    await machine.gone(20);
    await machine.runs(20, 7, "somebody else");
    expect((await makeRunFolder(machine.environment)).cleaned).toContain(folder);
    expect(machine.ended).toEqual([]);
  }));

test("an nginx with another prefix that has the pid by now is left alone", () =>
  onMachine(async (machine) => {
    await machine.runs(20, 2);
    const folder = await machine.folderOf(20);
    await machine.hasProxy(folder, 21);
    await machine.runs(21, 3, "nginx: master process nginx -p /etc/nginx -c x");
    await machine.gone(20);
    expect((await makeRunFolder(machine.environment)).cleaned).toContain("nginx ended: 0");
    expect(machine.ended).toEqual([]);
  }));

test("a run in a container with pids of its own keeps its folder", () =>
  onMachine(async (machine) => {
    const folder = await machine.folderOf(4_000);
    expect((await makeRunFolder(machine.environment)).cleaned).toBeUndefined();
    expect(await machine.environment.files.kind(folder)).toBe("folder");
  }));

test("a run that goes on keeps all it has", () =>
  onMachine(async (machine) => {
    await machine.runs(20, 2);
    const folder = await machine.folderOf(20);
    await machine.hasProxy(folder, 21);
    await machine.runs(21, 3, `nginx: master process nginx -p ${folder}/lockstep-1 -c x`);
    expect((await makeRunFolder(machine.environment)).cleaned).toBeUndefined();
    expect([machine.ended, await machine.environment.files.kind(folder)]).toEqual([[], "folder"]);
  }));

test.each([
  ["up", true, [0o711]],
  ["incident", true, [0o711]],
  ["lab", true, []],
  ["up", false, []],
] as const)(
  "the folder of %s, as root: %s, lets the workers of nginx pass by the modes %j",
  (command, isRoot, modes) =>
    onMachine(async ({ environment }) => {
      const set: number[] = [];
      Object.assign(environment.files, {
        setMode: async (_: string, mode: number) => void set.push(mode),
      });
      const processes = { ...environment.processes, isRoot };
      await makeRunFolder({ ...environment, processes }, command);
      expect(set).toEqual(modes);
    }),
);
