/**
 * Goal: the rules in docs/guides/webhooks.md do what the page says.
 * Method: the page's own example is loaded as a config file, and events in GitHub's form are routed
 * by it.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { routeEvent } from '../../src/intake/events/route-event.ts'
import { readEvent } from '../../src/intake/events/webhook-event.ts'
import { loadSettings } from '../../src/settings/load-settings.ts'
import type { Settings } from '../../src/settings/settings.ts'

const page = readFileSync(new URL('../../docs/guides/webhooks.md', import.meta.url), 'utf8')
const [, section = ''] = page.split('## The event that `when` gets')
const [, example = ''] = /```ts\n([^]*?)```/.exec(section) ?? []

let settings: Settings
let cwd = ''
beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'holdfast-examples-'))
  const config = JSON.stringify(new URL('../../src/config.ts', import.meta.url).href)
  writeFileSync(join(cwd, 'holdfast.config.ts'), example.replace("'holdfast'", config))
  settings = await loadSettings({ env: {}, cwd })
})
afterAll(() => rmSync(cwd, { recursive: true }))

const shared = {
  repository: { id: 1, full_name: 'acme/widgets' },
  sender: { login: 'mona', id: 7, type: 'User' },
}
const comment = (body: string) => ({
  ...shared,
  action: 'created',
  issue: { number: 5, state: 'open', pull_request: {} },
  comment: { id: 1, body, user: { login: 'mona' }, created_at: '2026-11-15T10:00:00Z' },
})
const pull = {
  number: 5,
  state: 'open',
  user: { login: 'mona', type: 'User' },
  head: { sha: 'a'.repeat(40) },
  base: { sha: 'b'.repeat(40) },
  updated_at: '2026-11-15T10:00:00Z',
}
const labeled = (name: string) => ({
  ...shared,
  action: 'labeled',
  number: 5,
  pull_request: pull,
  label: { name },
})
const opened = { ...shared, action: 'opened', number: 5, pull_request: pull }

it.each([
  ['a comment that is the command', 'issue_comment', comment('/review\r\n'), ['review: start']],
  ['any other comment', 'issue_comment', comment('nice work'), ['review: no command']],
  ['an opened pull request', 'pull_request', opened, ['review: start']],
  ['the label', 'pull_request', labeled('preview'), ['preview: start']],
  ['another label', 'pull_request', labeled('docs'), ['preview: another label']],
])('%s', (_what, name, payload, expected) => {
  const routes = routeEvent(readEvent('guid', name, payload), settings.runs, null)
  const decisions = routes.map(
    (route) => `${route.type}: ${'reason' in route ? route.reason : route.to}`,
  )
  expect(decisions).toEqual(expected)
})
