// Maps Node's many network failures to the few codes of `NetworkError`, each with a message that
// names the action and what to check. The original error stays as the cause.
import { NetworkError, type NetworkErrorCode } from "../network.ts";
import { errorCode } from "./error-code.ts";

const codes: Readonly<Record<string, NetworkErrorCode>> = {
  ECONNREFUSED: "REFUSED",
  // A unix socket without its file: no process listens.
  ENOENT: "REFUSED",
  ECONNRESET: "RESET",
  ECONNABORTED: "RESET",
  EPIPE: "RESET",
  ERR_STREAM_PREMATURE_CLOSE: "RESET",
  // Keep-alive probes or the connection attempt went unanswered.
  ETIMEDOUT: "DEAD_PEER",
  EHOSTUNREACH: "DEAD_PEER",
  EHOSTDOWN: "DEAD_PEER",
  ENETUNREACH: "DEAD_PEER",
  ENETDOWN: "DEAD_PEER",
  ENOTFOUND: "UNKNOWN_HOST",
  EAI_AGAIN: "UNKNOWN_HOST",
  EPROTO: "TLS",
  EADDRINUSE: "ADDRESS_IN_USE",
};

/** OpenSSL's verification failures carry bare names as codes. */
const tlsCode = /^(ERR_TLS|ERR_SSL|ERR_OSSL|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_)/;

/** `what` is the attempt: `GET https://10.0.0.1:6443/api`. */
export function exchangeFailure(what: string, error: Error): NetworkError {
  if (error instanceof NetworkError) return error;
  const code = networkCode(error);
  return new NetworkError(code, `${what}: ${explanation(code, error)}`, { cause: error });
}

export function exchangeAborted(what: string, signal: AbortSignal): NetworkError {
  return new NetworkError("ABORTED", `${what}: aborted by the caller`, { cause: signal.reason });
}

export function listenFailure(where: string, error: Error): NetworkError {
  const code = networkCode(error);
  if (code === "ADDRESS_IN_USE") {
    const message =
      `cannot listen on ${where}: another process already does. ` +
      "Stop that process or choose another address (port 0 takes any free port).";
    return new NetworkError(code, message, { cause: error });
  }
  const advice: Readonly<Record<string, string>> = {
    EACCES: "permission denied; ports below 1024 and folders of other users need more rights",
    EADDRNOTAVAIL: "this machine does not have that address",
    ENOENT: "its folder does not exist",
  };
  const why = advice[errorCode(error) ?? ""] ?? error.message;
  const listenCode = code === "UNKNOWN_HOST" ? code : "FAILED";
  return new NetworkError(listenCode, `cannot listen on ${where}: ${why}`, { cause: error });
}

function networkCode(error: Error): NetworkErrorCode {
  const code = errorCode(error) ?? "";
  if (code.startsWith("HPE_")) return "NOT_HTTP";
  return codes[code] ?? (tlsCode.test(code) ? "TLS" : "FAILED");
}

function explanation(code: NetworkErrorCode, error: Error): string {
  switch (code) {
    case "REFUSED":
      return "connection refused; check the address, and that the server is running";
    case "RESET":
      return "the connection broke before the answer was complete";
    case "DEAD_PEER":
      return "the peer does not answer; check the host, the network and firewalls";
    case "UNKNOWN_HOST":
      return "the host name cannot be resolved; check the spelling and DNS";
    case "TLS":
      return `the TLS handshake failed (${error.message}); check the certificates`;
    case "NOT_HTTP":
      return "the peer does not answer with HTTP; it may be an HTTPS port";
    case "FAILED":
    case "ADDRESS_IN_USE":
    case "ABORTED":
      return error.message;
  }
}
