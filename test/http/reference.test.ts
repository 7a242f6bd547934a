/**
 * Goal: the reference page has every endpoint and every code.
 * Method: the server's own list of endpoints, and the codes in the source.
 */
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, it } from 'vitest'
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

it('explains every code that an answer can have', () => {
  const makers =
    'ConflictError|NotFoundError|InvalidInputError|StoreUnavailableError|StoreContendedError' +
    '|unavailable|contended|HttpProblem'
  const thrown = new RegExp(`(?:${makers})\\(\\s*(?:\\d+,\\s*)?'([a-z_]+)'`, 'g')
  const codes = globSync('src/**/*.ts', { cwd: root })
    .filter((file) => !file.endsWith('.test.ts'))
    .flatMap((file) => [...readFileSync(`${root}/${file}`, 'utf8').matchAll(thrown)])
    .map((match) => match[1])
  expect(codes.length).toBeGreaterThan(20)
  expect([...new Set(codes)].filter((code) => !page.includes(`\`${code}\``))).toEqual([])
})
