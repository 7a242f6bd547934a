/**
 * A program: the server as `holdfast serve` composes it. It loads its code while the previous
 * server is still running, opens the store after the start signal, and reports its address.
 */
import { enableCompileCache, flushCompileCache } from 'node:module'
import { settings, report, untilLetGo } from './child.ts'

export interface IntakeConfig {
  readonly databaseUrl: string
  readonly folder: string
  readonly adminToken: string
  readonly webhookSecret: string
  /** Compiled code, so that loading it fifty times is not most of the work. */
  readonly cache: string
}

const config = settings() as IntakeConfig
enableCompileCache(config.cache)
const { pino } = await import('pino')
const { compose } = await import('../../src/compose.ts')
const { loadSettings } = await import('../../src/settings/load-settings.ts')
// A killed process does not write its cache of compiled code.
flushCompileCache()
await untilLetGo()
const flags = { databaseUrl: config.databaseUrl, port: '0' }
const loaded = await loadSettings({ flags, env: {}, cwd: config.folder })
const app = await compose(loaded, {
  adminToken: config.adminToken,
  webhookSecrets: [config.webhookSecret],
  log: pino({ level: 'error' }, pino.destination(2)),
  version: 'chaos',
})
report((await app.listen()).url)
