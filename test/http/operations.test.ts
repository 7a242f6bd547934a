/**
 * Goal: HTTP is a thin layer over the operations: an endpoint admits exactly those whom its
 * operation admits, and no endpoint bypasses the operations.
 * Method: every endpoint is compared with the operation whose name is its `operationId`.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { Reach } from '../../src/operations/reach.ts'
import { repository } from '../tidy/source.ts'
import { serverUnderTest } from './server-under-test.ts'

const it = serverUnderTest()
afterAll(() => it.server.close())

/** Endpoints without an operation: health, the API description, and GitHub's signed webhooks. */
const withoutOperation = [
  ...['getDocs', 'getHealth', 'getMetrics', 'getOpenApi', 'getReadiness'],
  'receiveGithubWebhook',
]

async function operations(): Promise<ReadonlyMap<string, Reach>> {
  const folder = join(repository, 'src/operations')
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const files = paths.filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
  const modules = await Promise.all(
    files.map(async (path) => (await import(join(folder, path))) as Record<string, unknown>),
  )
  const found = modules
    .flatMap((module) => Object.entries(module))
    .flatMap(([name, value]) => {
      const reach = (value as { readonly reach?: Reach }).reach
      return reach === undefined ? [] : [[name, reach] as const]
    })
  return new Map(found)
}

test('every endpoint admits the same scopes as the operation of its name', async () => {
  await it.server.ready()
  const reaches = await operations()
  const unknown = new Set<string>()
  const served = new Set<string>()
  for (const { method, schema, access } of it.server.endpoints) {
    const { operationId: name } = schema as { readonly operationId?: string }
    if (method === 'HEAD' || name === undefined) continue
    const reach = reaches.get(name)
    if (reach === undefined) unknown.add(name)
    else {
      served.add(name)
      expect(access, name).toBe(reach.scopes)
    }
  }
  expect([...unknown].toSorted()).toEqual(withoutOperation)
  expect([...served].toSorted()).toEqual([...reaches.keys()].toSorted())
})
