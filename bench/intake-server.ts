/**
 * The server that the intake benchmark sends to, in a separate process. Prints its port on standard
 * output.
 *
 *   stored DATABASE_URL   the program as `holdfast serve` composes it
 *   bare                  the same HTTP route, which checks the signature and that it is JSON,
 *                         and stores nothing
 */
import { createWriteStream } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import { compose } from '../src/compose.ts'
import { createHttpServer } from '../src/http/server.ts'
import type { HttpDeps } from '../src/http/deps.ts'
import { noMetrics } from '../src/metrics.ts'
import type { Intake } from '../src/intake/intake.ts'
import { isSignedBy } from '../src/intake/events/signature.ts'
import { loadSettings } from '../src/settings/load-settings.ts'
import { machine } from './recording.ts'
import { adminToken, webhookSecret } from './webhook-load.ts'

// The server logs as in production, but the log needs no disk.
const log = pino({ level: 'info' }, createWriteStream('/dev/null'))

async function startStored(url: string): Promise<number> {
  const flags = { databaseUrl: url, port: '0' }
  const settings = await loadSettings({ flags, env: {}, cwd: import.meta.dirname })
  const secrets = { adminToken, webhookSecrets: [webhookSecret] }
  const app = await compose(settings, { ...secrets, log, version: 'bench' })
  return Number(new URL((await app.listen()).url).port)
}

const bare: Intake = {
  isSigned: (body, signature) => isSignedBy([webhookSecret], body, signature),
  receive: async ({ body }) => {
    JSON.parse(body.toString())
    return { inboxId: 'inb_none', decision: 'accepted', reason: null, runIds: [] }
  },
  replay: () => Promise.reject(new Error('nothing is stored here')),
}

async function startBare(): Promise<number> {
  // The route needs only the parts below. If it needs others, this benchmark must add them.
  const unused = {} as HttpDeps
  const http = createHttpServer({
    ...unused,
    ...machine,
    intake: bare,
    isOurHost: () => true,
    trustedProxies: null,
    metrics: noMetrics,
    log,
    version: 'bench',
  })
  await http.listen({ host: '127.0.0.1', port: 0 })
  return (http.server.address() as AddressInfo).port
}

const [kind, url] = process.argv.slice(2)
const port = await (kind === 'stored' && url !== undefined ? startStored(url) : startBare())
process.stdout.write(`${port}\n`)
process.on('SIGTERM', () => process.exit(0))
