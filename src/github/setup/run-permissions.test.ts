// Goal: doctor names what run types ask for in their GitHub tokens and the App does not have.
import { afterEach, beforeEach, expect, it } from 'vitest'
import { startFakeApi, type FakeApi } from '../../../test/github/fake-api.ts'
import { appCredentials, clientOf } from '../../../test/github/github-under-test.ts'
import { neededPermissions } from './setup-findings.ts'

let api: FakeApi
beforeEach(async () => {
  api = await startFakeApi()
})
afterEach(() => api.close())

const own = Object.fromEntries(neededPermissions.map(({ name, access }) => [name, access]))
const runPermissions = {
  review: { contents: 'read', pull_requests: 'write' },
  build: { actions: 'read', contents: 'write' },
} as const

/** The findings about what the App requests for runs, and what `acme` has granted. */
async function findings(requested: object, granted: object) {
  const events = ['pull_request', 'check_run', 'issues', 'issue_comment']
  const app = { id: 12, slug: 'bot', name: 'Bot', events, permissions: { ...own, ...requested } }
  const installation = { account: { login: 'acme' }, events, permissions: { ...own, ...granted } }
  api.on('GET /app', { body: app })
  api.on('GET /app/installations?per_page=100', { body: [installation] })
  const { github } = clientOf(api.url, { credentials: appCredentials, runPermissions })
  const about = ['github.permissions', 'github.run_permissions', 'github.installations']
  const found = (await github.checkSetup()).filter(({ check }) => about.includes(check))
  return found.map(({ level, check, detail, remedy }) => ({
    line: `${level} ${check}: ${detail}`,
    remedy,
  }))
}

const more = { contents: 'write', actions: 'write' }
const linesOf = (found: readonly { readonly line: string }[]) => found.map(({ line }) => line)

it('an App that has them is fine', async () => {
  expect(linesOf(await findings(more, more))).toEqual([
    'ok github.permissions: The App requests all the permissions it needs.',
    'ok github.run_permissions: The App requests all the permissions that run types ask for.',
    'ok github.installations: The App is installed for 1 account.',
  ])
})

it('each permission that the App does not request is a problem with its remedy', async () => {
  const [, first, second, last] = await findings({}, {})
  const words = (what: string) =>
    `problem github.run_permissions: Runs of the type build ask for ${what}, which the App does ` +
    'not request, so they get no GitHub token.'
  expect([first?.line, second?.line]).toEqual([words('actions: read'), words('contents: write')])
  expect(first?.remedy).toContain('Bot → Permissions & events → Actions: Read-only.')
  expect(first?.remedy).toContain('runs: { "build": { permissions: { … } } }')
  expect(last?.line).toMatch(/^ok github.installations/)
})

it('what an installation has not granted is a problem', async () => {
  expect(linesOf(await findings(more, {}))).toContain(
    'problem github.installations: acme has not granted actions: read, contents: write.',
  )
})
