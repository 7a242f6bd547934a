/** Settings of the server process: where it listens, what it logs, how it stops. */
import { option } from './option.ts'
import { choice, line, webAddress, wholeNumber } from './value-kind.ts'
import { dayMs } from './option.ts'

export const serverOptions = {
  host: option({
    env: 'HOLDFAST_HOST',
    kind: line('a host name or an IP address', /^[A-Za-z0-9._:%-]+$/),
    unit: null,
    default: '127.0.0.1',
    summary: 'Address to listen on',
    advice:
      'With `0.0.0.0` or `::` other machines can reach the server. Then put a proxy with TLS in ' +
      'front of it, because tokens are sent unencrypted.',
    secret: 'no',
  }),
  port: option({
    env: 'HOLDFAST_PORT',
    kind: wholeNumber(0, 65_535),
    unit: null,
    default: 8787,
    summary: 'Port to listen on',
    advice: '0 picks a free port at every start; the line `holdfast listening on …` shows it.',
    secret: 'no',
  }),
  publicUrl: option({
    env: 'HOLDFAST_PUBLIC_URL',
    kind: webAddress('https://holdfast.example.com'),
    unit: null,
    default: null,
    summary: 'Address at which GitHub and people reach this server',
    advice:
      'The start shows the address for webhooks based on it, `holdfast doctor` compares that ' +
      'with GitHub, and requests for its host are accepted. This version publishes no links to it.',
    secret: 'no',
  }),
  logLevel: option({
    env: 'HOLDFAST_LOG_LEVEL',
    kind: choice(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
    unit: null,
    default: 'info',
    summary: 'Lowest level of log lines to write',
    advice:
      '`debug` and `trace` write more and need more disk; `warn` and higher leave out normal ' +
      'operation.',
    secret: 'no',
  }),
  shutdownMs: option({
    env: 'HOLDFAST_SHUTDOWN_MS',
    kind: wholeNumber(0, dayMs),
    unit: 'milliseconds',
    default: 20_000,
    summary: 'Time for current work to finish after SIGTERM or SIGINT',
    advice:
      'Work that takes longer is cut off and the server exits with code 1; the next start ' +
      'continues it. Set it lower than the time your service manager waits before it kills.',
    secret: 'no',
  }),
} as const
