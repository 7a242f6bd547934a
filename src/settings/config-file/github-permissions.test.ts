/** The committed list of GitHub's permissions is that of GitHub's description of its API. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { accessLevels } from '../../domain/github-permissions.ts'
import { githubPermissions } from './github-permissions.ts'

interface Description {
  readonly components: {
    readonly schemas: {
      readonly 'app-permissions': {
        readonly properties: Readonly<Record<string, { readonly enum: readonly string[] }>>
      }
    }
  }
}

const file = new URL('../../../test/simulator/github-openapi.json', import.meta.url)

test('every permission and level that GitHub describes is known, and no other', () => {
  const { components } = JSON.parse(readFileSync(file, 'utf8')) as Description
  const described = Object.entries(components.schemas['app-permissions'].properties)
  expect(described.length).toBeGreaterThan(40)
  expect(githubPermissions).toEqual(
    Object.fromEntries(described.map(([name, { enum: levels }]) => [name, levels])),
  )
  const levels = new Set<string>(Object.values(githubPermissions).flat())
  expect([...levels].toSorted()).toEqual(accessLevels.toSorted())
})
