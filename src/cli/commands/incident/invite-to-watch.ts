// The command with which somebody else can watch a live play as it happens, from another terminal.
import type { Environment } from "../../../environment/environment.ts";
import type { ObservablePlay } from "../../../lab/incidents/stage.ts";
import { kubeconfig } from "../../../lab/kubeconfig.ts";
import { typedCommand } from "../../typed-command.ts";

/** Keeps a kubeconfig in the folder of the run, and says what to type. */
export async function inviteToWatch(
  { files, processes }: Pick<Environment, "files" | "processes">,
  folder: string,
  { access, proxies, accessLogs }: ObservablePlay,
): Promise<string> {
  const { name, server } = access;
  const { authorization = "" } = await access.credentials();
  const path = `${folder}/kubeconfig`;
  const token = authorization.replace(/^Bearer /, "");
  await files.write(path, kubeconfig([{ name, server, token }]), { mode: 0o600 });
  const words = [
    `--kubeconfig ${path}`,
    ...proxies.map((address) => `--proxy ingress-nginx=http://${address}`),
    ...accessLogs.map((log) => `--access-log ${log}`),
  ];
  const command = typedCommand(processes, `watch ${words.join(" \\\n    ")}`);
  return `Watch it from another terminal:\n  ${command}\n`;
}
