// Reads any text line by line and takes from it what the doctor knows: log lines, objects in YAML or
// JSON, tables of kubectl, keys of etcd, flags, versions. A text may mix them, as an issue or a chat
// does. Nothing is an error: a line that says nothing is counted, and memory is bounded.
import { parseAllDocuments } from "yaml";
import { AccessLogParser } from "../../access-log/access-log-parser.ts";
import { isRecord, type RawRecord } from "../../kube/kinds/fields.ts";
import { isYamlTooDeep } from "../../kube/yaml/nesting.ts";
import { DescriptionReader, labelsIn } from "./descriptions.ts";
import { isLineStart } from "./line-start.ts";
import { type LogLine, readLogLine, unknownYear } from "./log-line.ts";
import { type LogSign, type ReadSigns, signsIn, signWords } from "./log-signs.ts";
import { joinedLines, withoutMarkup } from "./markup.ts";
import { hostOf, type ObjectFacts, portOf } from "./objects.ts";
import type { RequestLog } from "./request-log.ts";
import { type Settings, settingWords } from "./settings.ts";
import type { Place, SignLog } from "./sign-log.ts";
import { WordFinder } from "./word-finder.ts";

export interface TextFacts {
  readonly signs: SignLog;
  readonly objects: ObjectFacts;
  readonly settings: Settings;
  readonly requests: RequestLog;
}

/** A line that a chat or a terminal has wrapped goes on for a few lines. */
const wrappedLinesMax = 8;
const wrappedCharsMax = 4_096;

/** They say which program writes a log, also where no line has a known message. */
export const headLines = 200;

/** The values that signs need stand before it. */
const lineCharsMax = 65_536;

/** Items of a YAML list are read one by one; a JSON list is one block, here of some 10,000 pods. */
const blockCharsMax = 67_108_864;

/** People leave parts out of what they paste, not out of files. */
const cutCharsMax = 262_144;

interface Block {
  readonly place: Place;
  readonly indent: number;
  readonly isJson: boolean;
  readonly lines: string[];
  chars: number;
}

interface ReadLine {
  readonly text: string;
  readonly place: Place;
  readonly words: readonly string[];
  /** It begins a line of a log, so it does not go on with the line before. */
  readonly isStart: boolean;
}

/** A chat wraps between words, and a terminal at its width. */
interface WrappedLine {
  text: string;
  glued: string;
  lines: number;
  readonly place: Place;
}

interface Table {
  readonly columns: readonly string[];
  readonly isPods: boolean;
  readonly isEndpoints: boolean;
  readonly isNodes: boolean;
  readonly isIngresses: boolean;
  readonly isServices: boolean;
}

const blockStart = /^(\s*)(?:- )?(?:apiVersion: *["']?[\w./]+["']?|kind: *["']?[A-Z]\w+["']?) *$/;
/** An answer of the API server as clients of other languages print it, which is no YAML. */
const statusLine = /^\s*kind: Status\s*$/;
const yamlLine = /^\s*(?:- ?|#|\.\.\.|…)|^\s*["']?[\w./~-]+["']?:(?:\s|$)|^\s*$|^\s+\S/;
const tableHead = /^(?:NAMESPACE\s+)?NAME\s+[A-Z]/;
const etcdKey = /^\/registry\/pods\/([a-z0-9-]+)\/([a-z0-9.-]+)$/;
const dockerName = /\bk8s_[a-z0-9.-]{1,253}_([a-z0-9.-]{1,253})_([a-z0-9-]{1,63})_[0-9a-f-]{36}_\d/;
const controlPlane = /\b(?:hyperkube|kube-(?:apiserver|controller-manager))\b/;
const etcdWord = "/registry/pods/";

/** Of `kubectl get pods` below a filter that has taken the head away. */
const podRow =
  /^\s*(?:([a-z0-9-]{1,63}) +)?(?:pod\/)?([a-z0-9][a-z0-9.-]{0,252}) +\d{1,4}\/\d{1,4} +(Running|Pending|Terminating|Completed|Error|CrashLoopBackOff|ContainerCreating)\s/;
const auditWord = "audit.k8s.io/";

/** A request in JSON that failed, by the names that nginx, Envoy and Traefik give its status. */
const failedWords: readonly string[] = [
  'status":50',
  'status":"50',
  'status": 50',
  'status": "50',
  'Status":50',
  '_code":50',
  '_code":"50',
];

/** A line without one of these says nothing to any reader. */
export const knownWords = new WordFinder([
  ...signWords,
  ...settingWords,
  etcdWord,
  auditWord,
  ...failedWords,
]);

/** nginx, Traefik and Envoy in their text forms: the client, where it stands first, and the status. */
const request = /^(?:(\d{1,3}(?:\.\d{1,3}){3}) - |\[\d{4}-\d\d-\d\dT).{0,4096}?" (\d\d\d) /;

/** Below two minutes a new object has no status yet. */
const youngAge = /^(?:\d{1,3}s|1m\d{0,2}s?)$/;

const namespaceFlag = /kubectl\b.*?\s(?:-n|--namespace)[ =]([a-z0-9-]+)/;

export class TextReader {
  readonly #facts: TextFacts;
  readonly #source: string;
  readonly #program: string | undefined;
  /** That the name of the text contains. */
  readonly #sourceProgram: string | undefined;
  #line = 0;
  readonly #accessLog = new AccessLogParser();
  #block: Block | undefined;
  /** Lines of a block that was none. */
  #isReadAgain = false;
  #table: Table | undefined;
  readonly #descriptions: DescriptionReader;
  /** Of the last command in the text: tables of one namespace do not name it. */
  #namespace = "default";
  /** A log line without a sign, whose rest may follow. */
  #wrapped: WrappedLine | undefined;

  /** `source` is how evidence names the text: a path, or a pod. `program` wrote it, if known. */
  constructor(facts: TextFacts, source: string, program?: string) {
    this.#facts = facts;
    this.#descriptions = new DescriptionReader(facts.objects);
    this.#source = source;
    this.#program = program;
    this.#sourceProgram = programs.exec(source)?.[0];
  }

  /** A line of it belongs to the object, whatever it looks like. */
  get isInObject(): boolean {
    return this.#block !== undefined;
  }

  push(raw: string, line = this.#line + 1): void {
    this.#line = line;
    const whole = unquoted(raw);
    const place = { source: this.#source, line };
    if (this.#block !== undefined && this.#continueBlock(whole)) return;
    if (whole === "") {
      this.#wrapped = undefined;
      this.#table = undefined;
      return;
    }
    const text = whole.length > lineCharsMax ? whole.slice(0, lineCharsMax) : whole;
    const words = knownWords.find(text);
    const joined = words.length === 0 ? undefined : joinedLines(text);
    if (joined !== undefined) {
      for (const part of joined) this.push(part, line);
      return;
    }
    if (words.includes(auditWord) && this.#readAudit(whole, place)) return;
    const isStart = isLineStart(text);
    if (this.#readSign({ text, place, words, isStart })) return;
    if (this.#readRequest(text, place, words)) return;
    if (isStart) {
      this.#noteLog(text, line);
      this.#facts.settings.read(text, place, words);
      this.#table = undefined;
      return;
    }
    this.#facts.settings.readProse(text, place, words);
    if (text.includes("kubectl")) {
      this.#namespace = namespaceFlag.exec(text)?.[1] ?? this.#namespace;
    }
    if (this.#descriptions.read(text, place, this.#namespace)) return;
    if (this.#readTable(text, place)) return;
    if (this.#readName(text, place, words)) return;
    this.#startBlock(text, place);
  }

  #noteLog(text: string, line: number): void {
    if (line > headLines) return;
    const program = this.#program ?? programOf(readLogLine(text), this.#sourceProgram);
    this.#facts.signs.noteLog(program);
  }

  /** The text is over. */
  end(): void {
    while (this.#block !== undefined) this.#endBlock();
    this.#wrapped = undefined;
    this.#table = undefined;
    this.#descriptions.end();
  }

  #readSign({ text, place, words, isStart }: ReadLine): boolean {
    const own = words.length === 0 ? undefined : signsIn(text, words);
    const read = own ?? (isStart ? undefined : this.#wrappedSigns(text));
    if (read === undefined) {
      this.#rememberWrapped(text, place, isStart);
      return false;
    }
    const { line, signs } = read;
    const begunAt = own === undefined ? (this.#wrapped?.place ?? place) : place;
    const program = this.#program ?? programOf(line, this.#sourceProgram);
    const { atMs } = line;
    this.#noteFailures(signs, atMs, begunAt);
    for (const { name, subject, ms, detail, times } of signs) {
      this.#facts.signs.add({ name, subject, ms, detail, times, place: begunAt, atMs, program });
    }
    this.#wrapped = undefined;
    this.#facts.settings.read(text, place, words);
    return true;
  }

  #noteFailures(signs: readonly LogSign[], atMs: number | undefined, place: Place): void {
    for (const { name, subject } of signs) {
      if (name !== "upstream-refused" && name !== "upstream-timeout") continue;
      const hasYear = atMs !== undefined && atMs >= Date.UTC(unknownYear + 1, 0);
      const knownAtMs = hasYear ? atMs : undefined;
      const address = hostOf(subject);
      this.#facts.requests.addFailure({ address, port: portOf(subject), atMs: knownAtMs, place });
    }
  }

  /** Of a line whose start was on the lines before. */
  #wrappedSigns(text: string): ReadSigns | undefined {
    const wrapped = this.#wrapped;
    if (wrapped === undefined) return undefined;
    const ofWords = `${wrapped.text} ${text.trim()}`;
    const read = signsIn(ofWords, knownWords.find(ofWords));
    // A line of a stack begins with a space; one that a terminal has cut goes on within a word.
    if (read !== undefined || /^\s/.test(text)) return read;
    const whole = wrapped.glued + text;
    return signsIn(whole, knownWords.find(whole));
  }

  #rememberWrapped(text: string, place: Place, isStart: boolean): void {
    if (isStart) {
      this.#wrapped = { text, glued: text, lines: 1, place };
      return;
    }
    const wrapped = this.#wrapped;
    if (wrapped === undefined) return;
    const isLong = wrapped.text.length + text.length > wrappedCharsMax;
    if (wrapped.lines >= wrappedLinesMax || isLong || text.trim() === "") {
      this.#wrapped = undefined;
      return;
    }
    wrapped.text += ` ${text.trim()}`;
    wrapped.glued += text;
    wrapped.lines += 1;
  }

  // ---- audit and access logs ----

  #readAudit(text: string, place: Place): boolean {
    const start = text.indexOf("{");
    const value = start < 0 ? undefined : jsonValues([text.slice(start)])[0];
    if (value === undefined) return false;
    this.#facts.objects.add(value, place);
    return true;
  }

  /** Only failed requests are read; the others say nothing here. */
  #readRequest(text: string, place: Place, words: readonly string[]): boolean {
    const isJson = words.some((word) => failedWords.includes(word));
    const [, client, status = ""] = isJson ? [] : (request.exec(text) ?? []);
    if (isJson || status !== "") this.#facts.requests.isRead = true;
    if (!isJson && !/^[45]/.test(status)) return false;
    if (status.startsWith("4")) {
      if (client !== undefined) this.#facts.requests.addClientError(client, place);
      return true;
    }
    const line = { number: place.line, text, isCut: false };
    const entry = this.#accessLog.read(line);
    if (entry === undefined) return false;
    this.#facts.requests.add(entry, place);
    return true;
  }

  // ---- tables and names ----

  #readTable(text: string, place: Place): boolean {
    if (tableHead.test(text)) {
      const columns = text.trim().split(/\s{2,}|\s(?=[A-Z])/);
      const isPods = columns.includes("READY") && columns.includes("RESTARTS");
      const isNodes = columns.includes("VERSION") && columns.includes("STATUS");
      const isEndpoints = columns.includes("ENDPOINTS");
      const isIngresses = columns.includes("HOSTS") && columns.includes("ADDRESS");
      const isServices = columns.includes("SELECTOR") && columns.includes("PORT(S)");
      this.#table = { columns, isPods, isEndpoints, isNodes, isIngresses, isServices };
      return true;
    }
    const table = this.#table;
    if (table === undefined) return false;
    const cells = text
      .replace(/\(\S+ ago\)/, "")
      .trim()
      .split(/\s+/);
    if (cells.length < 2 || /[{}:]$/.test(cells[0] ?? ":")) {
      this.#table = undefined;
      return false;
    }
    const cell = (column: string): string | undefined => cells[table.columns.indexOf(column)];
    const namespace =
      table.columns[0] === "NAMESPACE" ? (cell("NAMESPACE") ?? "") : this.#namespace;
    const name = cell("NAME")?.replace(/^(?:pod|po|endpoints|ep|ingress[\w.]*|ing)\//, "") ?? "";
    if (table.isPods && /^\d+\/\d+$/.test(cell("READY") ?? "")) {
      const isTerminating = cell("STATUS") === "Terminating";
      const labels = labelsIn(cell("LABELS"));
      this.#facts.objects.addPodRow({
        namespace,
        name,
        place,
        isTerminating,
        ip: cell("IP"),
        labels,
      });
    }
    if (table.isEndpoints) {
      const listed = cell("ENDPOINTS") ?? "";
      this.#facts.objects.listText(text.includes(" more...") ? `${listed} + more...` : listed);
      // Slices have their ports in a column, and a name of their own.
      if (!table.columns.includes("ADDRESSTYPE")) {
        const more = Number(/ \+ (\d{1,9}) more\.\.\./.exec(text)?.[1] ?? 0);
        const ready = /^(?:<none>)?$/.test(listed) ? 0 : listed.split(",").length + more;
        // With addresses of unready pods alone the cell is empty, and the age stands in its place.
        const isEmpty = /^\d{1,5}[smhdy]/.test(listed);
        const known = isEmpty ? { ready: 0, notReady: 1 } : { ready, notReady: 0 };
        const counts = { ...known, overCapacity: undefined };
        this.#facts.objects.addEndpointsRow(`${namespace}/${name}`, counts, place);
      }
    }
    if (table.isServices) {
      const selector = labelsIn(cell("SELECTOR"));
      const service = name.replace(/^(?:service|svc)\//, "");
      if (selector !== undefined) {
        this.#facts.objects.addServiceRow(`${namespace}/${service}`, selector, place);
      }
    }
    // An empty cell leaves its column to the next one, the ports.
    if (table.isIngresses && !youngAge.test(cells.at(-1) ?? "")) {
      const hasAddress = !/^\d{1,5},?$/.test(cell("ADDRESS") ?? "");
      this.#facts.objects.addIngressRow(`${namespace}/${name}`, hasAddress, place);
    }
    if (table.isNodes && cell("STATUS") !== undefined) {
      this.#facts.objects.addNodeRow(name, cell("STATUS") ?? "", place);
    }
    if (table.isEndpoints && name === "kubernetes" && namespace === "default") {
      this.#addKubernetesEndpoints(cell("ENDPOINTS") ?? "", place);
    }
    return true;
  }

  /** The same fact as kube-proxy's message about them. */
  #addKubernetesEndpoints(addresses: string, place: Place): void {
    this.#facts.signs.add({
      name: "kubernetes-endpoints-seen",
      subject: `[${addresses}]`,
      ms: undefined,
      detail: "",
      times: 1,
      place,
      atMs: undefined,
      program: undefined,
    });
  }

  #readName(text: string, place: Place, words: readonly string[]): boolean {
    const { objects } = this.#facts;
    const row = text.includes("/") ? podRow.exec(text) : null;
    const [, rowNamespace = this.#namespace, rowName, status] = row ?? [];
    if (rowName !== undefined) {
      const isTerminating = status === "Terminating";
      objects.addPodRow({
        namespace: rowNamespace,
        name: rowName,
        place,
        isTerminating,
        isListed: false,
      });
      return true;
    }
    const [, namespace, name] = words.includes(etcdWord) ? (etcdKey.exec(text.trim()) ?? []) : [];
    if (namespace !== undefined && name !== undefined) {
      objects.addPodRow({ namespace, name, place });
      return true;
    }
    const [, pod, podNamespace] = text.includes("k8s_") ? (dockerName.exec(text) ?? []) : [];
    if (pod === undefined || podNamespace === undefined) return false;
    objects.runningContainers.set(`${podNamespace}/${pod}`, place);
    return true;
  }

  // ---- objects ----

  #startBlock(text: string, place: Place): void {
    if (statusLine.test(text)) return;
    const yaml = blockStart.exec(text);
    const json = yaml === null && !this.#isReadAgain ? /^(\s*)\{\s*$/.exec(text) : null;
    const isJson = json !== null;
    if (yaml === null && !isJson) return;
    const indent = (yaml ?? json)?.[1]?.length ?? 0;
    this.#block = { place, indent, isJson, lines: [text], chars: text.length };
  }

  /** Whether the line belongs to the object that is being read. */
  #continueBlock(text: string): boolean {
    const block = this.#block;
    if (block === undefined) return false;
    const isOver = block.isJson
      ? isClosed(block)
      : /^\s*(?:---+|```)/.test(text) || !yamlLine.test(text) || isNextObject(text, block);
    if (isOver || isLogBelow(text, block) || block.chars > blockCharsMax) {
      this.#endBlock();
      return false;
    }
    block.lines.push(text);
    block.chars += text.length;
    return true;
  }

  #endBlock(): void {
    const block = this.#block;
    this.#block = undefined;
    if (block === undefined) return;
    if (block.chars > blockCharsMax) {
      this.#facts.objects.tooLarge.push(block.place);
      return;
    }
    const values = valuesOf(block);
    if (block.isJson && values.length === 0) this.#readAgain(block);
    for (const value of values) {
      if (isRecord(value) && !("kind" in value)) {
        this.#readDocument(value, block.place);
        continue;
      }
      if (isRecord(value) && value["kind"] === "Status") {
        for (const text of storedLines(value, 0)) this.push(text, block.place.line);
        continue;
      }
      this.#facts.objects.add(value, block.place);
      for (const pod of podsIn(value)) this.#readProcess(pod, block.place);
    }
  }

  /** The brace was no start of JSON but, for example, one of a configuration. */
  #readAgain({ lines, place }: Block): void {
    const now = this.#line;
    this.#isReadAgain = true;
    for (const [index, line] of lines.entries()) this.push(line, place.line + index);
    this.#isReadAgain = false;
    this.#line = now;
  }

  /** An entry of a log that was printed over several lines: a request, or a line that a store keeps. */
  #readDocument(document: RawRecord, place: Place): void {
    if (this.#readRequest(JSON.stringify(document), place, failedWords)) return;
    for (const text of storedLines(document, 0)) this.push(text, place.line);
  }

  /** Flags and version of a process of the control plane, from the arguments and image of its pod. */
  #readProcess(pod: RawRecord, place: Place): void {
    const { spec } = pod;
    const containers = isRecord(spec) ? spec["containers"] : undefined;
    for (const container of Array.isArray(containers) ? containers : []) {
      if (!isRecord(container)) continue;
      const { image, command, args } = container;
      const text = [image, command, args].flat().filter(isText).join(" ");
      if (controlPlane.test(text)) this.#facts.settings.read(text, place, knownWords.find(text));
    }
  }
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function podsIn(value: unknown): readonly RawRecord[] {
  if (!isRecord(value)) return [];
  const { kind, items } = value;
  const all = Array.isArray(items) ? items.filter(isRecord) : [value];
  return all.filter((one) => one["kind"] === "Pod" || kind === "PodList");
}

/** Where stores of logs keep the line. */
const lineKeys = ["log", "message", "MESSAGE", "msg", "textPayload"];
const documentDepthMax = 3;

function storedLines(document: RawRecord, depth: number): readonly string[] {
  const own = lineKeys.flatMap((key) => {
    const text = document[key];
    return typeof text === "string" ? [text] : [];
  });
  if (own.length > 0 || depth >= documentDepthMax) return own.slice(0, 1);
  return Object.values(document).flatMap((value) =>
    isRecord(value) ? storedLines(value, depth + 1) : [],
  );
}

function isClosed({ lines, indent }: Block): boolean {
  const last = lines.at(-1) ?? "";
  return last.length > indent && last[indent] === "}" && last.trimStart().startsWith("}");
}

/** A line of a log, as opposed to one that a field quotes. */
function isLogBelow(text: string, { indent }: Block): boolean {
  const start = text.search(/\S/);
  if (start < 0 || start > indent || text[start] === "{") return false;
  return isLineStart(text.slice(start));
}

/** Items of a list are objects of their own, so that a list of any length is read. */
function isNextObject(text: string, { lines, indent }: Block): boolean {
  const start = blockStart.exec(text);
  if (start === null || (start[1]?.length ?? 0) > indent) return false;
  // `- kind: ServiceAccount` below `subjects:` is a part of the binding.
  const isPart = /^\s*- kind:/.test(text) && !/^\s*- /.test(lines[0] ?? "");
  const hasBoth = lines.some((line) => /^\s*(?:- )?kind:/.test(line)) && text.includes("kind:");
  return (hasBoth && !isPart) || text.includes("apiVersion:");
}

/** JSON with parts left out is read as leniently as YAML, of which it is a form. */
function valuesOf({ isJson, lines, chars }: Block): readonly unknown[] {
  if (!isJson) return yamlValues(lines);
  const exact = jsonValues(lines);
  const isCutObject = chars <= cutCharsMax && lines.some((line) => /^\s*"kind" ?:/.test(line));
  return exact.length === 0 && isCutObject ? yamlValues(lines) : exact;
}

function jsonValues(lines: readonly string[]): readonly unknown[] {
  try {
    return [JSON.parse(lines.join("\n").replace(/,\s*$/, ""))];
  } catch {
    return [];
  }
}

/** Leniently: people cut objects, and put dots where something is missing. */
function yamlValues(lines: readonly string[]): readonly unknown[] {
  const text = lines
    .filter((line) => !/^\s*(?:\.\.\.+|…)\s*$/.test(line))
    .map((line) => line.replaceAll("\t", "    "))
    .join("\n");
  const unindented = withoutIndent(text);
  if (isYamlTooDeep(unindented)) return [];
  try {
    return parseAllDocuments(unindented, { logLevel: "silent", strict: false })
      .map((document) => document.toJS({ maxAliasCount: 100 }) as unknown)
      .flatMap((value) => (Array.isArray(value) ? (value as unknown[]) : [value]));
  } catch {
    return [];
  }
}

function withoutIndent(text: string): string {
  const indent = /^ */.exec(text)?.[0] ?? "";
  return indent === "" ? text : text.replaceAll(new RegExp(`^ {0,${indent.length}}`, "gm"), "");
}

/** Without the marks of a quote, and without the second half of a line end of another system. */
function unquoted(raw: string): string {
  const text = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
  return withoutMarkup(text.startsWith(">") ? text.replace(/^(?:> ?)+/, "") : text);
}

/** Go files that exist in one program only. */
const programOfFile: Readonly<Record<string, string>> = {
  "mastercount.go": "kube-apiserver",
  "nodecontroller.go": "kube-controller-manager",
  "node_controller.go": "kube-controller-manager",
  "node_lifecycle_controller.go": "kube-controller-manager",
  "controller_utils.go": "kube-controller-manager",
  "endpoints_controller.go": "kube-controller-manager",
  "endpointslice_controller.go": "kube-controller-manager",
  "kubelet_node_status.go": "kubelet",
  "kubelet.go": "kubelet",
  "proxier.go": "kube-proxy",
};

const programs =
  /kube-apiserver|kube-controller-manager|kube-scheduler|kube-proxy|kubelet|etcd|[\w-]*ingress[\w-]*/;

/** By what a layer names, by the Go file, or by the name of the text. */
function programOf({ program, caller }: LogLine, ofSource: string | undefined): string | undefined {
  const known = program === undefined ? undefined : programs.exec(program)?.[0];
  const file = (caller ?? "").split(":")[0] ?? "";
  return known ?? programOfFile[file] ?? ofSource ?? program;
}
