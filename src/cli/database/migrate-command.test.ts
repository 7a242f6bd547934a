import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { storeWorld, type StoreWorld } from '../../../test/cli/store-world.ts'
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
