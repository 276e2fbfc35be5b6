// The settings of a route beyond its target. All of it is data: checked when it is made from an
// object's annotations, pushed as JSON beside the route's rule, and read by the proxy's Lua
// (proxy/lua/lockstep/). Absent fields have the proxy's default.

export interface RoutePolicy {
  /** Every request gets 503: the route was to be protected by something that is not supported. */
  readonly closed?: true;
  /** Requests that came without TLS are sent to https with this status. */
  readonly httpsRedirect?: RedirectStatus;
  /** Every request is answered with this; no endpoint sees it. */
  readonly redirect?: Redirect;
  /** Every request is sent to the same address at another host. */
  readonly hostRedirect?: HostRedirect;
  /** Where a request for `/` is sent (302). */
  readonly appRoot?: string;
  /** The path the endpoint sees; in a Regex rule `$1` to `$9` are what its groups matched. */
  readonly rewrite?: string;
  /** The Host header the endpoint sees, and the name asked for by TLS. */
  readonly upstreamHost?: string;
  /** The name asked for by TLS instead, and to be proved by the endpoint's certificate. */
  readonly upstreamTlsName?: string;
  readonly protocol?: "http" | "https" | "grpc" | "grpcs";
  /** Whether an https or grpcs endpoint must prove its name to the CA bundle. */
  readonly verifyUpstream?: boolean;
  /** Sent to the endpoint as X-Forwarded-Prefix: the part of the path that it does not see. */
  readonly forwardedPrefix?: string;
  /** Endpoints may answer with more headers than the 16 KiB that nginx has room for otherwise. */
  readonly largeHeaders?: true;
  /** A body whose length is known is passed on as it comes, not when it is there as a whole. */
  readonly streamBodies?: true;
  /** 0 for no limit. */
  readonly maxBodyBytes?: number;
  readonly timeouts?: RouteTimeouts;
  /** How many endpoints are tried, the first included. */
  readonly tries?: number;
  /**
   * Answers of endpoints after which another one is tried, or the same where there is no other. Only
   * requests that may be repeated are.
   */
  readonly retryOn?: readonly RetriedStatus[];
  readonly balance?: Balance;
  /** Looked at in their order; the first that wants the request gets it. */
  readonly canaries?: readonly Canary[];
  /** Networks (CIDR) of allowed clients; all others get 403. */
  readonly allowFrom?: readonly string[];
  /** Networks that get 403, whatever else is allowed. */
  readonly denyFrom?: readonly string[];
  readonly rateLimit?: RateLimit;
  /** A request without a name and password of this list gets 401; while the list is absent, 503. */
  readonly basicAuth?: BasicAuth;
  /** An external service decides whether a request may pass; while it does not answer, 503. */
  readonly externalAuth?: ExternalAuth;
  readonly cors?: Cors;
  /** Every request is answered with this: the route is not valid, or is there to lead nowhere. */
  readonly refuse?: 404 | 500 | 503;
  readonly requestHeaders?: HeaderChanges;
  readonly responseHeaders?: HeaderChanges;
  /** Further changes for the rule's own service; a canary has its own. */
  readonly ownHeaders?: BackendHeaders;
  /** Other services that get a copy of each request, or of some; their answers are ignored. */
  readonly mirrors?: readonly Mirror[];
  /** The path that the endpoint sees, or of a Prefix rule what stands there for the prefix. */
  readonly pathRewrite?: PathChange;
  /** Every request is sent to the same address with other parts. */
  readonly partRedirect?: PartRedirect;
  /** An answer must have begun by then, whichever endpoints are tried. */
  readonly deadlineMs?: number;
}

export interface Mirror {
  /** A key of the decision's `services`. */
  readonly service: string;
  /** The share of the requests: `weight` of `weightTotal`; all when absent. */
  readonly weight?: number;
  readonly weightTotal?: number;
}

/** Changes for the requests that one service gets, and for its answers, besides those of the route. */
export interface BackendHeaders {
  readonly requestHeaders?: HeaderChanges;
  readonly responseHeaders?: HeaderChanges;
}

export interface HeaderChanges {
  readonly set?: readonly HeaderValue[];
  readonly add?: readonly HeaderValue[];
  readonly remove?: readonly string[];
}

export interface HeaderValue {
  readonly name: string;
  readonly value: string;
}

/** One of the two. */
export interface PathChange {
  readonly full?: string;
  readonly prefix?: string;
}

export interface PartRedirect {
  readonly scheme?: "http" | "https";
  readonly host?: string;
  readonly port?: number;
  readonly path?: PathChange;
  readonly status: RedirectStatus;
}

export type RedirectStatus = 301 | 302 | 303 | 307 | 308;

export type RetriedStatus = 500 | 502 | 503 | 504;

export interface Redirect {
  readonly location: string;
  readonly status: RedirectStatus;
}

export interface HostRedirect {
  /** Without a port: that of the request is kept. */
  readonly host: string;
  readonly status: RedirectStatus;
}

export interface RouteTimeouts {
  readonly connectMs?: number;
  readonly sendMs?: number;
  readonly readMs?: number;
}

export interface Balance {
  readonly method: "round-robin" | "least-latency" | "hash";
  /** Of `hash`: the parts of a request that are hashed. */
  readonly hashBy?: readonly HashPart[];
  /** Goes before the method while the cookie names an endpoint that serves. */
  readonly affinity?: CookieAffinity;
  /** The same by a header, instead of a cookie: a session begins with an answer that has it. */
  readonly sessionHeader?: string;
}

/** A fixed text, or something of the request, by nginx's name for it. */
export type HashPart = { readonly text: string } | { readonly variable: string };

export interface CookieAffinity {
  readonly cookie: string;
  /**
   * `balanced` lets a session move when its endpoint left; `persistent` never moves it otherwise.
   */
  readonly mode: "balanced" | "persistent";
  readonly path?: string;
  readonly domain?: string;
  readonly maxAgeSeconds?: number;
  readonly secure?: boolean;
  readonly sameSite?: "None" | "Lax" | "Strict";
  /** Leaves out SameSite=None for browsers that take it for Strict. */
  readonly conditionalSameSiteNone?: boolean;
  /** A new endpoint, and a new cookie, after a failed try. */
  readonly changeOnFailure?: boolean;
}

export interface Canary extends BackendHeaders {
  /** A key of the decision's `services`; empty for a part of the requests that is answered with 500. */
  readonly service: string;
  readonly header?: CanaryHeader;
  /** `always` and `never` in this cookie decide. */
  readonly cookie?: string;
  /** Share of the requests that nothing above decided: `weight` of `weightTotal`. */
  readonly weight?: number;
  readonly weightTotal?: number;
}

export interface CanaryHeader {
  readonly name: string;
  /** Without value and pattern, `always` and `never` decide. */
  readonly value?: string;
  /** A regular expression. */
  readonly pattern?: string;
}

export interface RateLimit {
  /** Per client address. */
  readonly requestsPerSecond: number;
  readonly burst: number;
  /** Networks whose clients are not counted. */
  readonly exceptFrom?: readonly string[];
}

export interface BasicAuth {
  /** A key of the decision's `users`. */
  readonly users: string;
  readonly realm: string;
}

export interface ExternalAuth {
  /** A key of the decision's `services`; absent where `host` is one that routes here lead from. */
  readonly service?: string;
  /** Without `service`: the namespaces whose routes may be asked; `*` for any. */
  readonly namespaces?: readonly string[];
  /** The service speaks TLS. */
  readonly tls?: true;
  /**
   * Sent to it as Host. In this and the other texts `$host` and the like stand for the request's.
   */
  readonly host: string;
  readonly path: string;
  /** GET when absent. */
  readonly method?: AuthMethod;
  /** Headers of its answer that the endpoint gets in place of the client's. */
  readonly responseHeaders?: readonly string[];
  /** The target of the redirect (302) for clients that it answers with 401. */
  readonly signIn?: string;
  /** Sent to it as X-Auth-Request-Redirect, in place of the request's path. */
  readonly requestRedirect?: string;
}

export type AuthMethod = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS";

export interface Cors {
  /**
   * In the Gateway API the asterisk of an origin stands for any number of labels, a request with
   * credentials gets what it asks for in place of `*`, and preflights of other origins are answered, too.
   * Absent: as ingress-nginx does it.
   */
  readonly dialect?: "gateway";
  /** `*`, origins, or origins with a wildcard for one label. */
  readonly allowOrigins: readonly string[];
  readonly allowMethods: readonly string[];
  readonly allowHeaders: readonly string[];
  readonly exposeHeaders: readonly string[];
  readonly allowCredentials: boolean;
  readonly maxAgeSeconds: number;
}
