// Goal: a program that catches an error of the library finds its class in the package and on its
// page.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import * as library from './index.ts'

const page = readFileSync(new URL('../docs/guides/library.md', import.meta.url), 'utf8')
const exported = Object.keys(library).filter((name) => name.endsWith('Error'))

test('the page lists exactly the exported error classes', () => {
  const named = new Set(page.match(/\b[A-Z][A-Za-z]+Error\b/g))
  expect([...named].toSorted()).toEqual(exported.toSorted())
})

test('all of them extend one class, which catches them all', () => {
  for (const [name, value] of Object.entries(library)) {
    if (!name.endsWith('Error') || name === 'HoldfastError') continue
    expect((value as { prototype: unknown }).prototype, name).toBeInstanceOf(library.HoldfastError)
  }
})

test('a wrong configuration is a SettingsError with all its problems', async () => {
  const config = { databseUrl: 'x', leaseMs: 1 } as object
  const error: unknown = await library.openHoldfast(config).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(library.SettingsError)
  expect((error as library.SettingsError).problems.join()).toContain('databaseUrl')
})
