// How long the kernel of a client keeps a TCP connection whose packets are lost. No reset arrives, so
// only missing answers end it. Pure arithmetic over the settings of Linux.

/** TCP_RTO_MIN, the first retransmission on a local network. */
const firstRetransmissionMs = 200;
/** TCP_RTO_MAX: waits double up to this. */
const longestRetransmissionMs = 120_000;
/** net.ipv4.tcp_retries2. */
const retransmissions = 15;

/** Go's net.Dialer of client-go: TCP_KEEPIDLE and TCP_KEEPINTVL are both set to this. */
const keepAliveMs = 30_000;
/** net.ipv4.tcp_keepalive_probes. */
const keepAliveProbes = 9;

/**
 * When something that was sent is not acknowledged: the first wait and one after each repetition,
 * 924.6 s in all.
 */
export const retransmissionPatienceMs = Array.from({ length: retransmissions + 1 }, (_, turn) =>
  Math.min(firstRetransmissionMs * 2 ** turn, longestRetransmissionMs),
).reduce((sum, waitMs) => sum + waitMs, 0);

/** When nothing is on its way: the idle time, then the unanswered probes; 300 s. */
export const keepAlivePatienceMs = keepAliveMs * (1 + keepAliveProbes);
