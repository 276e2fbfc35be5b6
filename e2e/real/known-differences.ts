// Where the embedded API server is known to answer otherwise than a real one, and why that is left
// so. Each entry must occur: one that does not is out of date, and the suite says so.
import type { KnownDifference } from "../contract/judge.ts";

export const knownDifferences: readonly KnownDifference[] = [
  {
    what: "Columns of Tables have other descriptions.",
    why: "The descriptions are text of the Kubernetes documentation, which is not copied; names, types, formats and cells are the same.",
    where: { place: /\.columnDefinitions\[\d+\]\.description$/ },
  },
  {
    what: "A new Node gets no taint node.kubernetes.io/not-ready.",
    why: "The real admission plugin adds it and the node lifecycle controller removes it; the lab's controllers use conditions only.",
    where: {
      case: /^(objects|forms of answers|apply|validation|random objects): Node\b/,
      place: /\.spec\.taints(\[\d+\])?$/,
      real: /^\[?\{"effect":"NoSchedule","key":"node\.kubernetes\.io\/not-ready"\}\]?$/,
      embedded: /^undefined$/,
    },
  },
  {
    what: "A Node that is written again without a change keeps its version.",
    why: "For the real server the write removes its taint not-ready, so it is a change.",
    where: {
      case: /^(objects: Node: what is absent or there already is refused|apply: Node is made by apply and applied again)$/,
      place: /^body\.metadata\.resourceVersion$/,
      real: /^"<v[123]>"$/,
      embedded: /^"<v[012]>"$/,
    },
  },
  {
    what: "A Node that another client created has no owner before the first apply.",
    why: "The real server records its taint not-ready there.",
    where: {
      case: /^apply: Node is applied over what another made$/,
      place:
        /^body\.metadata\.managedFields\[(0\]\.(fieldsV1\.f:(spec|metadata)|manager|operation)|1\])$/,
    },
  },
  {
    what: "The default number of replicas of a ReplicationController has no owner.",
    why: "Its defaults are set after ownership is decided, in a conversion that only this kind has.",
    where: {
      case: /^(objects: |forms of answers: |apply: |validation: )ReplicationController\b/,
      place: /\.metadata\.managedFields\[\d\]\.fieldsV1\.f:spec\.f:replicas$/,
      real: /^\{\}$/,
      embedded: /^undefined$/,
    },
  },
  {
    what: "A DaemonSet's annotation deprecated.daemonset.template.generation is part of the stored object.",
    why: "The real server adds it when it converts to apps/v1, so answers in other forms lack it; nothing has read it since 1.9.",
    where: {
      case: /^forms of answers: DaemonSet (as a Table|as metadata alone|in a watch as a Table)$/,
      place: /\.metadata\.annotations(\.deprecated\.daemonset\.template\.generation)?$/,
      real: /^undefined$/,
      embedded: /^("1"|\{"deprecated\.daemonset\.template\.generation":"1"\})$/,
    },
  },
  {
    what: "The first owner of a DaemonSet owns its annotation deprecated.daemonset.template.generation.",
    why: "In the real server the last owner owns it, because the annotation is not part of the stored object.",
    where: {
      case: /^apply: DaemonSet is applied over what another made$/,
      place:
        /^body\.metadata\.managedFields\[[02]\]\.fieldsV1\.f:metadata\.f:annotations(\.\.|\.f:deprecated\.daemonset\.template\.generation)?$/,
    },
  },
  {
    what: "The error for a wrong JSON type names the type string where Go has its own type.",
    why: "The names of Go's own string and map types (v1.Protocol, v1.ResourceList) are not in the table of schemas.",
    where: {
      place: /message$/,
      real: /json: cannot unmarshal .* of type (\[\])?(v1|types)\.\w+\\?"/,
    },
  },
  {
    what: "A change of a pod's fixed fields is refused without a diff of Go structures.",
    why: "The sentence is the same; the diff shows the server's internal types.",
    where: { case: /a pod's spec is nearly fixed/, place: /message$/ },
  },
  {
    what: "Invalid YAML gets another error message.",
    why: "The message is that of the YAML library.",
    where: { case: /^requests: (broken YAML|YAML with tabs)/, place: /message$/ },
  },
  {
    what: "A request with an unknown method is refused by the HTTP library, with 400.",
    why: "Node's HTTP parser reads only the methods it knows.",
    where: { case: /^requests: an unknown method/ },
  },
  {
    what: "A list kind in place of an object is an unknown kind.",
    why: "The embedded server does not look for lists among the kinds of a body.",
    where: { case: /^requests: a list of objects/, place: /message$/ },
  },
  {
    what: "A body that is not text is shown with a replacement character.",
    why: "Go shows the first byte as Latin-1.",
    where: { case: /^requests: bytes that are not text/, place: /message$/ },
  },
  {
    what: "Invalid delete options get the error message of any other body.",
    why: "Options are decoded like objects.",
    where: { case: /^requests: a deletion with (another kind|a broken body)/, place: /message$/ },
  },
  {
    what: "A forbidden new finalizer is listed once among the causes.",
    why: "The real server checks metadata twice in an update of some kinds and lists the causes of both checks; the message is the same.",
    where: { case: /no finalizer is added/, place: /causes\[1\]$/ },
  },
  {
    what: "Owner references given twice are kept twice.",
    why: "The real server drops the second with a warning; no client of the lab sends them.",
    where: { case: /owners are checked/, place: /ownerReferences\[1\]$|headers\.warning$/ },
  },
  {
    what: "A watch by its old path has no headers of priority and fairness.",
    why: "Such watches pass the embedded server's flow control without a seat.",
    where: { case: /the old paths of watches/, place: /headers\.x-kubernetes-pf/ },
  },
  {
    what: "Reviews and token requests have no managedFields.",
    why: "They are answered but not stored, and only stored fields have an owner.",
    where: {
      case: /^access: (users ask what they may do|others are asked about|a service account gets a token|a token is reviewed)$/,
      place: /^body\.metadata\.managedFields$/,
      embedded: /^undefined$/,
    },
  },
  {
    what: "The status of a CustomResourceDefinition has no owner.",
    why: "The embedded server writes it as part of its own work, not as a client would.",
    where: {
      case: /^custom kinds: /,
      place: /^body\.metadata\.managedFields\[1\]$/,
      real: /^\{"apiVersion":"apiextensions\.k8s\.io\/v1","fieldsType":"FieldsV1","fieldsV1":\{"f:status"/,
      embedded: /^undefined$/,
    },
  },
  {
    what: "A list of custom objects has no empty continue.",
    why: "The real server writes the field for custom kinds and leaves it out for others.",
    where: { case: /^custom kinds: /, place: /metadata\.continue$/ },
  },
  {
    what: "A pod whose keyed lists repeat a key, or lack it, has no managedFields.",
    why: "The fields of such an object cannot be owned one by one; the real server records the others.",
    where: {
      case: /^validation: Pod: spec\.imagePullSecrets\[0\](\.name)? is (empty|absent)$/,
      place: /^body\.metadata\.managedFields$/,
      embedded: /^undefined$/,
    },
  },
  {
    what: "An Event without a name gets this error together with all others.",
    why: "The real server checks the name of an Event only if everything else is valid.",
    where: {
      case: /^random objects: Event /,
      place: /message$|causes\[/,
      embedded: /name|Required/,
    },
  },
  {
    what: "An empty list or map in a refused object is shown as null.",
    why: "Decoding does not distinguish empty from absent, and neither does storage.",
    where: {
      place: /message$/,
      real: /Invalid value: (\[\]|\{\}): /,
      embedded: /Invalid value: null: /,
    },
  },
];
