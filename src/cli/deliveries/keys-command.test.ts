import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { storeWorld, type StoreWorld } from '../../../test/cli/store-world.ts'

let at: StoreWorld
beforeEach(async () => {
  at = await storeWorld()
})
afterEach(() => at.close())

const inFolder = (file: string) => join(at.world.cwd, file)

test('keys are listed without their secrets, and can be rotated', async () => {
  const [first] = await at.store.outbox.markerKeys()
  const rotated = await at.command('keys', 'rotate')
  expect(rotated.stdout).toMatch(/^Key [\w-]+ signs from now on\. 1 older key still verifies\.\n$/)
  const listed = await at.command('keys', '--json')
  const { items } = JSON.parse(listed.stdout) as { items: { id: string; signs: boolean }[] }
  expect(items.map(({ signs }) => signs)).toEqual([true, false])
  expect(items[1]?.id).toBe(first?.id)
  const table = await at.command('keys', 'list')
  for (const { secret } of await at.store.outbox.markerKeys()) {
    expect(listed.stdout + table.stdout + rotated.stdout).not.toContain(secret)
  }
})

test('an export is a new file that only its owner can read', async () => {
  const [key] = await at.store.outbox.markerKeys()
  const { code, stdout } = await at.command('keys', 'export', 'keys.json')
  expect(code).toBe(0)
  expect(stdout).toBe(`Wrote 1 key to ${inFolder('keys.json')}.\n`)
  expect(statSync(inFolder('keys.json')).mode & 0o777).toBe(0o600)
  expect(readFileSync(inFolder('keys.json'), 'utf8')).toContain(key?.secret)
  const again = await at.command('keys', 'export', 'keys.json')
  expect(again.code).toBe(2)
  expect(again.stderr).toContain('the file exists')
  const { items } = await at.store.audit.list(
    { type: 'operator.keys_exported' },
    { limit: 10, cursor: null },
  )
  expect(items).toMatchObject([{ actor: 'cli' }])
})

test('an export that fails leaves no file that would stop the next one', async () => {
  const open = at.world.openStore
  Object.assign(at.world, {
    openStore: async (...given: Parameters<typeof open>) => {
      const store = await open(...given)
      store.outbox.exportMarkerKeys = () => Promise.reject(new Error('the disk is full'))
      return store
    },
  })
  expect((await at.command('keys', 'export', 'keys.json')).code).not.toBe(0)
  Object.assign(at.world, { openStore: open })
  expect((await at.command('keys', 'export', 'keys.json')).code).toBe(0)
})

test('keys are printed only with the flag for it', async () => {
  const [key] = await at.store.outbox.markerKeys()
  const { stdout } = await at.command('keys', 'export', '-')
  expect(JSON.parse(stdout)).toMatchObject({ keys: [{ id: key?.id, secret: key?.secret }] })
})

test('a new database accepts the keys before its first start', async () => {
  await at.command('keys', 'rotate')
  await at.command('keys', 'export', 'keys.json')
  const next = ['--data-dir', inFolder('next')]
  const imported = await at.command('keys', 'import', 'keys.json', ...next)
  expect(imported.stdout).toBe('Added 2 keys; 0 already known.\n')
  const again = await at.command('keys', 'import', 'keys.json', ...next, '--json')
  expect(JSON.parse(again.stdout)).toMatchObject({ added: [] })
  const listed = await at.command('keys', '--json', ...next)
  const own = await at.command('keys', '--json')
  expect(JSON.parse(listed.stdout)).toEqual(JSON.parse(own.stdout))
})

test.each([
  ['nothing', ''],
  ['no keys', '{"keys":[]}'],
  ['a short secret', '{"keys":[{"id":"a","secret":"s","created_at":"2026-01-01T00:00:00Z"}]}'],
])('a file with %s is refused', async (_what, text) => {
  writeFileSync(inFolder('wrong.json'), text)
  const { code, stderr } = await at.command('keys', 'import', 'wrong.json')
  expect(code).toBe(2)
  expect(stderr).toContain('is not a file of marker keys')
})
