import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { storeWorld, type StoreWorld } from '../../../test/cli/store-world.ts'
import { openFile } from '../../stores/drivers/sqlite-file.ts'
import { migrateSqlite } from '../../stores/drivers/sqlite-schema.ts'
import { loadMigrations } from '../../stores/migrations.ts'
import { restoredLine } from './restore-words.ts'

let at: StoreWorld
beforeEach(async () => {
  at = await storeWorld()
})
afterEach(() => at.close())

describe('migrate --restored', () => {
  test('makes the next server look for open deliveries before it sends them', async () => {
    await at.store.upkeep.recordMode('sandbox')
    const first = await at.store.outbox.knowsSince()
    const { code, stdout } = await at.command('migrate', '--restored')
    expect({ code, stdout }).toMatchObject({ code: 0 })
    expect(stdout).toMatch(
      / is up to date: schema \d+\.\nNoted at \S+: this database is a restored /,
    )
    expect(stdout).toContain('there is nothing to look for')
    expect(await at.store.outbox.knowsSince()).toBeGreaterThan(first)
    const wrong = await at.command('migrate', '--restored', '--dry-run')
    expect(wrong).toMatchObject({ code: 2, stdout: '' })
  })

  test('says what to do if a server was active on the restored database', async () => {
    await at.store.upkeep.recordMode('sandbox')
    expect((await at.command('migrate', '--restored')).stderr).toBe('')
    await at.store.upkeep.beat()
    const { code, stdout, stderr } = await at.command('migrate', '--restored', '--json')
    const report = { restored: true, open: 0, shown: 0 }
    expect({ code, ...(JSON.parse(stdout) as object) }).toMatchObject({ code: 0, ...report })
    expect(stderr).toMatch(/^WARNING: A server was active \d+ s ago.* stop it/)
  })

  test('is refused if there is no database, and creates none', async () => {
    const { code, stdout, stderr } = await at.command(
      'migrate',
      '--restored',
      '--data-dir',
      'elsewhere',
    )
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
    expect(stderr).toMatch(
      /There is no Holdfast database at .*elsewhere.*\n.*Put the copy there first/,
    )
    expect(existsSync(join(at.world.cwd, 'elsewhere'))).toBe(false)
  })

  test('shows the same times as the next start', async () => {
    await at.store.upkeep.recordMode('sandbox')
    const { stdout } = await at.command('migrate', '--restored')
    const times = (text: string) => (text.match(/\d{4}-\S+?Z/g) ?? []).toSorted()
    const line = restoredLine(await at.store.outbox.restoreNote(), at.store.now())
    expect(times(stdout)).toHaveLength(2)
    expect(times(String(line))).toEqual(times(stdout))
  })

  test('names the files that no copy of the database has, while they are missing', async () => {
    const dataDir = join(at.world.cwd, 'data')
    const { stdout } = await at.command('migrate', '--restored')
    expect(stdout).toContain(`admin-token and webhook-secret are missing in ${dataDir}`)
    writeFileSync(join(dataDir, 'admin-token'), 'x')
    const one = await at.command('migrate', '--restored')
    expect(one.stdout).toContain(`webhook-secret is missing in ${dataDir}`)
    at.world.env = { GITHUB_WEBHOOK_SECRET: 'given by the environment' }
    expect((await at.command('migrate', '--restored')).stdout).not.toContain('missing in')
  })
})

test('a backup says which files of the data folder are not in it', async () => {
  expect((await at.command('backup', 'one.db')).stdout).not.toContain('Not in it')
  const dataDir = join(at.world.cwd, 'data')
  mkdirSync(dataDir, { recursive: true })
  writeFileSync(join(dataDir, 'admin-token'), 'x')
  const { stdout } = await at.command('backup', 'two.db')
  expect(stdout).toContain(`Not included: ${join(dataDir, 'admin-token')}. Copy it too.`)
})

describe('an older database', () => {
  const folder = () => join(at.world.cwd, 'old')

  /** As an older server left it that was active a moment ago. */
  function makeOld(): void {
    mkdirSync(folder(), { mode: 0o700 })
    const prepare = (db: DatabaseSync) =>
      migrateSqlite(db, loadMigrations('sqlite').slice(0, 20), 0)
    const { writer: db, reader } = openFile(
      join(folder(), 'holdfast.db'),
      false,
      prepare,
      at.world.random,
    )
    reader?.close()
    db.prepare("INSERT INTO store_state (key, value) VALUES ('alive_at', ?)").run(
      String(at.store.now() - 3000),
    )
    db.close()
  }

  test('is not migrated by a command while a server is active on it', async () => {
    makeOld()
    const { code, stdout, stderr } = await at.command('runs', '--data-dir', folder())
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/a server was active on it \d s ago.*\n.*holdfast migrate/)
    const { stdout: dry } = await at.command('migrate', '--dry-run', '--data-dir', folder())
    expect(dry).toContain('would be updated from schema 20 ')
  })

  test('is migrated by its command, with a warning if a server is active', async () => {
    makeOld()
    const { code, stdout, stderr } = await at.command('migrate', '--data-dir', folder())
    expect({ code, stderr }).toMatchObject({ code: 0 })
    expect(stdout).toContain('was updated from schema 20 to ')
    expect(stderr).toMatch(/^WARNING: A server was active \d s ago.* start the new version/)
    expect((await at.command('runs', '--data-dir', folder())).code).toBe(0)
  })
})
