/**
 * Goal: the reference page has every endpoint with its scopes, and every code.
 * Method: the server's own list of endpoints, and the codes in the source.
 */
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, it } from 'vitest'
import type { Endpoint } from '../../src/http/requests/endpoints.ts'
import { anyToken } from '../../src/operations/reach.ts'
import { serverUnderTest } from './server-under-test.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const page = readFileSync(`${root}/docs/reference/http.md`, 'utf8')

const { server } = serverUnderTest()
await server.ready()
afterAll(() => server.close())

it('names every endpoint', () => {
  const missing = server.endpoints
    .filter(({ method }) => method !== 'HEAD' && method !== 'OPTIONS')
    .map(({ method, url }) => `${method} ${url.replaceAll(/:(\w+)/g, '{$1}')}`)
    .filter((endpoint) => !page.includes(`\`${endpoint}\``))
  expect(missing).toEqual([])
})

it('names the scopes of every endpoint', () => {
  const rows = [...page.matchAll(/^\| (`(?:GET|POST|PUT|DELETE) [^|]*?) +\| ([^|]*?) +\|/gm)]
  const cells = rows.flatMap(([, names = '', scopes = '']) =>
    [...names.matchAll(/`([^`]+)`/g)].map(([, name]) => [name, scopes] as const),
  )
  const served = server.endpoints
    .filter(
      ({ method, url }) => method !== 'HEAD' && method !== 'OPTIONS' && url !== '/webhooks/github',
    )
    .map(({ method, url, access }) => {
      return [`${method} ${url.replaceAll(/:(\w+)/g, '{$1}')}`, scopeWords(access)] as const
    })
  const written = new Map(cells)
  expect(served.map(([name]) => [name, written.get(name)])).toEqual(served)
})

function scopeWords(access: Endpoint['access']): string {
  if (access === 'public') return 'none'
  if (access === anyToken) return 'any'
  const scopes = (access ?? []).filter((scope) => scope !== 'run')
  return scopes.length === 0 ? 'admin' : scopes.join(', ')
}

it('explains every code that an answer can have', () => {
  const makers =
    'ConflictError|NotFoundError|InvalidInputError|StoreUnavailableError|StoreContendedError' +
    '|GitHubUnavailableError|unavailable|contended|HttpProblem'
  const thrown = new RegExp(`(?:${makers})\\(\\s*(?:\\d+,\\s*)?'([a-z_]+)'`, 'g')
  const codes = globSync('src/**/*.ts', { cwd: root })
    .filter((file) => !file.endsWith('.test.ts'))
    .flatMap((file) => [...readFileSync(`${root}/${file}`, 'utf8').matchAll(thrown)])
    .map((match) => match[1])
  expect(codes.length).toBeGreaterThan(20)
  expect([...new Set(codes)].filter((code) => !page.includes(`\`${code}\``))).toEqual([])
})
