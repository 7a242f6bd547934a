/**
 * A server in this process that uses the simulated GitHub, over real HTTP in both directions. It
 * can be closed and opened again on the same store.
 */
import { pino } from 'pino'
import { compose, type App } from '../../src/compose.ts'
import type { Config } from '../../src/config.ts'
import type { CatchUpView } from '../../src/contract.ts'
import { loadSettings } from '../../src/settings/load-settings.ts'
import { webhookSecret } from './webhook.ts'

export interface LiveOptions {
  readonly folder: string
  readonly env: Readonly<Record<string, string>>
  readonly config?: Config
}

export interface LiveServer {
  readonly app: App
  /** The address for webhooks. */
  readonly hookUrl: string
  catchUp(): Promise<CatchUpView>
  readonly logged: readonly Logged[]
}

interface Logged {
  readonly level: number
  readonly msg: string
}

export const adminToken = 'an-admin-token-of-good-length'

export async function openLiveServer(options: LiveOptions): Promise<LiveServer> {
  const { folder, config = {} } = options
  const env = {
    HOLDFAST_DATA_DIR: folder,
    HOLDFAST_PORT: '0',
    HOLDFAST_WRITE_SPACING_MS: '0',
    GITHUB_WEBHOOK_SECRET: webhookSecret,
    ...options.env,
  }
  const logged: Logged[] = []
  const settings = await loadSettings({ env, cwd: folder, inline: config })
  const app = await compose(settings, {
    adminToken,
    webhookSecrets: [webhookSecret],
    log: pino({ level: 'info' }, { write: (line) => void logged.push(JSON.parse(line) as Logged) }),
    version: '0.0.0',
  })
  const { url } = await app.listen()
  return {
    app,
    logged,
    hookUrl: `${url}/webhooks/github`,
    async catchUp() {
      const headers = { authorization: `Bearer ${adminToken}` }
      const answer = await fetch(`${url}/v1/catchup`, { method: 'POST', headers })
      if (answer.status !== 200) throw new Error(`${answer.status}: ${await answer.text()}`)
      return (await answer.json()) as CatchUpView
    },
  }
}
