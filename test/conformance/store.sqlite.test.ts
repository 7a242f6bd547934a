/** The conformance suite on SQLite, in memory. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openSqlite } from '../../src/stores/open-sqlite.ts'
import { exerciseStore, storeParts } from './store.suite.ts'

for (const part of storeParts) {
  exerciseStore(
    'SQLite',
    async (machine) => {
      const store = openSqlite({ path: ':memory:', exclusive: true }, machine)
      return { store, close: () => store.close() }
    },
    part,
  )
}

it('every part has its file for PostgreSQL', () => {
  const files = storeParts.map((part) => `${part}/${part}.postgres.test.ts`)
  expect(files.filter((file) => !existsSync(join(import.meta.dirname, file)))).toEqual([])
})
